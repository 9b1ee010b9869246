import { describe, expect, it } from 'vitest';
import type { EnsembleGraph, GraphStep } from '../../../src/operators/ensembles/ensemble-graph.ts';
import { ensemblePlans, planEnsemble } from '../../../src/operators/ensembles/ensemble-plan.ts';
import type { RequestedOutput } from '../../../src/streams/inference/request.ts';
import { noWaits } from '../../support/hand-ensemble.ts';

const wire = (slot: number, branch = 0) => ({ name: `w${branch}.${slot}`, branch, slot });
const tap = (name: string, at: number) => ({ name, wire: at, fit: 'as-is', dims: [1] }) as const;

const makeStep = (fields: Partial<GraphStep>): GraphStep => ({
  index: 0,
  modelName: 'm',
  modelVersion: '',
  inputs: [],
  outputs: [],
  modelOutputs: [],
  branch: 0,
  outputBranch: 0,
  waits: noWaits,
  ...fields,
});

const makeGraph = (fields: Partial<EnsembleGraph>): EnsembleGraph => ({
  name: 'e',
  version: '1',
  maxBatchSize: 0,
  wires: [],
  branchSizes: [],
  inputs: [],
  outputs: [],
  steps: [],
  maxInflightRequests: 0,
  ...fields,
});

/** IN → first → mid, SIDE; mid → many ⇒ row; row → last → OUT. A step that nobody needs takes IN. */
const graph = makeGraph({
  wires: [wire(0), wire(1), wire(2), wire(0, 1), wire(1, 1), wire(3)],
  branchSizes: [4, 2],
  inputs: [{ name: 'IN', wire: 0 }],
  outputs: [tap('OUT', 4)],
  steps: [
    makeStep({
      index: 1,
      inputs: [tap('x', 0)],
      outputs: [
        { name: 'y', wire: 1 },
        { name: 'z', wire: 2 },
      ],
      modelOutputs: ['y', 'z'],
    }),
    makeStep({ index: 3, inputs: [tap('x', 0)], outputs: [{ name: 'y', wire: 5 }], modelOutputs: ['y'] }),
    makeStep({ index: 0, inputs: [tap('x', 1)], outputs: [{ name: 'y', wire: 3 }], modelOutputs: ['y'], outputBranch: 1 }),
    makeStep({
      index: 2,
      inputs: [tap('x', 3), tap('o', 3)],
      outputs: [{ name: 'y', wire: 4 }],
      modelOutputs: ['y'],
      branch: 1,
      outputBranch: 1,
    }),
  ],
});

describe('planEnsemble', () => {
  it('has the steps that are needed, what each waits for, and what to ask of it', () => {
    const plan = planEnsemble(graph);
    expect(plan.steps.map(({ step, joint, inputs, outputs, requested }) => [step.index, joint, inputs, outputs, requested])).toEqual([
      [1, 0, [{ ...tap('x', 0), slot: 0 }], [{ name: 'y', wire: 1, slot: 1 }], [{ name: 'y', classification: 0 }]],
      [0, 1, [{ ...tap('x', 1), slot: 1 }], [{ name: 'y', wire: 3, slot: 0 }], []],
      [
        2,
        0,
        [
          { ...tap('x', 3), slot: 0 },
          { ...tap('o', 3), slot: 0 },
        ],
        [{ name: 'y', wire: 4, slot: 1 }],
        [],
      ],
    ]);
    expect([plan.answerBranch, plan.inputs, plan.outputs]).toEqual([
      1,
      [{ name: 'IN', wire: 0, slot: 0 }],
      [{ ...tap('OUT', 4), slot: 1 }],
    ]);
    const [own, many] = plan.branches;
    expect([own?.joints, many?.joints]).toEqual([plan.steps.slice(0, 2), [plan.steps[2], undefined]]);
    expect(own?.join).toMatchObject({ sourcesOf: [[0], [1]], sourceCounts: [1, 1], jointCounts: [1, 1, 0, 0] });
    expect(many?.join).toMatchObject({ sourcesOf: [[0], [1]], jointsOf: [[0], [1]] });
  });
});

describe('ensemblePlans', () => {
  const names = Array.from({ length: 7 }, (_, n) => `O${n}`);
  const wide = makeGraph({
    wires: names.map((_, slot) => wire(slot)),
    branchSizes: [7],
    outputs: names.map((name, at) => tap(name, at)),
    steps: [makeStep({ outputs: names.map((name, at) => ({ name, wire: at })), modelOutputs: names })],
  });
  const asked = (...each: readonly string[]): readonly RequestedOutput[] => each.map((name) => ({ name, classification: 0 }));

  it('makes one plan for each set of outputs', () => {
    const planOf = ensemblePlans(wide);
    const whole = planOf([]);
    expect(whole.outputs.length).toBe(7);
    expect(planOf(asked(...names.toReversed()))).toBe(whole);
    const two = planOf(asked('O1', 'O5'));
    expect(two.outputs.map(({ name }) => name)).toEqual(['O1', 'O5']);
    expect(planOf(asked('O5', 'O1', 'O5'))).toBe(two);
    expect(planOf(asked('O5'))).not.toBe(two);
  });

  it('remembers sixty-four of them', () => {
    const planOf = ensemblePlans(wide);
    const sets = Array.from({ length: 66 }, (_, n) => asked(...names.filter((_name, bit) => ((n + 1) >> bit) & 1)));
    const plans = sets.map((set) => planOf(set));
    expect(sets.map((set, n) => planOf(set) === plans[n])).toEqual(sets.map((_, n) => n < 64));
  });
});
