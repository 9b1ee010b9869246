import fc from 'fast-check';

// For properties that name no seed of their own, so that a run against mutants can be repeated.
fc.configureGlobal({ seed: 20240520 });
