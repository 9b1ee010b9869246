import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../gates/support/source-file.ts';

const url = new URL('../../src/cli/engine-flags.ts', import.meta.url).href;
const script = `import { readFileSync } from 'node:fs'; const { useEngineFlags } = await import(${JSON.stringify(url)}); useEngineFlags(); console.log(JSON.stringify([process.pid, process.execArgv, process.argv.slice(1), process.env.MALLOC_TRIM_THRESHOLD_, readFileSync('/proc/self/environ', 'utf8'), typeof gc === 'function']));`;

/** What the program sees of itself after the call. */
const run = (flags: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const output = execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', script, '--', 'one', '--two=3'], {
    cwd: projectRoot,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  const [pid, execArgv, args, trim, environment, canCollect]: [number, string[], string[], string | null, string, boolean] =
    JSON.parse(output);
  return { pid, execArgv, args, trim, environment, canCollect };
};

describe('useEngineFlags', () => {
  it('starts the program again with the flags, once, and keeps its own flags and arguments', () => {
    const { execArgv, args } = run(['--no-warnings']);
    expect(execArgv.filter((flag) => flag.includes('semi-space-size'))).toHaveLength(1);
    expect(execArgv).toEqual(
      expect.arrayContaining(['--single-threaded-gc', '--expose-gc', '--heap-growing-percent=200', '--no-warnings']),
    );
    expect(args).toEqual(['one', '--two=3']);
  });

  it('gives the program a way to ask for collections of the young generation', () => {
    expect([run([]).canCollect, run(['--max-semi-space-size=32']).canCollect]).toEqual([true, false]);
  });

  it('has freed memory kept, and does not pass that on', () => {
    const { trim, environment } = run([]);
    expect([trim, environment]).toEqual([null, expect.stringContaining('MALLOC_TRIM_THRESHOLD_=134217728')]);
  });

  it('leaves the allocator as it was told to be', () => {
    const { trim, environment } = run([], { MALLOC_TRIM_THRESHOLD_: '65536' });
    expect([trim, environment]).toEqual(['65536', expect.stringContaining('MALLOC_TRIM_THRESHOLD_=65536')]);
  });

  it.each<[string, readonly string[], Record<string, string>]>([
    ['a flag', ['--max-semi-space-size=32'], {}],
    ['the environment', [], { NODE_OPTIONS: '--max-semi-space-size=32' }],
  ])('leaves a size set by %s as it is', (_, flags, env) => {
    expect(run(flags, env).execArgv.join(' ')).not.toContain('--single-threaded-gc');
  });
});
