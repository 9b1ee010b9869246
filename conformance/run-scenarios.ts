import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connectGrpc } from './ask-grpc.ts';
import type { Outcome } from './case.ts';
import { playScenario } from './play-scenario.ts';
import type { Scenario, ScenarioGroup } from './scenario.ts';
import { scenarioGroups } from './scenarios/groups.ts';
import { startTarget, type Target, type TargetOptions } from './servers.ts';
import type { Tally, Verdict } from './verdict.ts';

/** The one repository that both servers read. */
const writeRepository = (scenarios: readonly Scenario[], folder: string): string => {
  const root = mkdtempSync(join(folder, 'models-'));
  const names = scenarios.flatMap(({ models }) => models.map(({ name }) => name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two scenarios have a model '${twice}'`);
  for (const { name, config, files } of scenarios.flatMap(({ models }) => models)) {
    const all = config === '' ? files : { ...files, 'config.pbtxt': config };
    mkdirSync(join(root, name, '1'), { recursive: true });
    for (const [path, content] of Object.entries(all)) {
      mkdirSync(dirname(join(root, name, path)), { recursive: true });
      writeFileSync(join(root, name, path), content);
    }
  }
  return root;
};

interface Pair {
  readonly triton: Target;
  readonly weir: Target;
  stop(): Promise<void>;
}

/** Now and then it dies while it loads models that fail. */
const startTriton = async (repository: string, options: TargetOptions, attemptsLeft = 3): Promise<Target> => {
  try {
    return await startTarget('triton', repository, options);
  } catch (error) {
    if (attemptsLeft === 0) throw error;
    return startTriton(repository, options, attemptsLeft - 1);
  }
};

const startPair = async (
  { flags = [], environment = {} }: Omit<ScenarioGroup, 'scenarios' | 'lanes'>,
  repository: string,
): Promise<Pair> => {
  const options = { flags: ['--exit-on-error=false', '--exit-timeout-secs=3', ...flags], environment };
  // Triton first: it makes the Python that both use.
  const triton = await startTriton(repository, options);
  const weir = await startTarget('weir', repository, options);
  return {
    triton,
    weir,
    stop: async () => {
      await Promise.all([triton.stop(), weir.stop()]);
    },
  };
};

const playOn = async (target: Target, scenario: Scenario): Promise<Outcome> => {
  if (!target.isAlive()) return { failure: 'the server is gone' };
  const grpc = connectGrpc(target.grpcPort);
  try {
    return await playScenario(scenario, target, grpc);
  } finally {
    grpc.close();
  }
};

/** One server after the other: they do not disturb each other's times. */
const compare = async (pair: Pair, scenario: Scenario, tally: Tally): Promise<Verdict> => {
  const triton = await playOn(pair.triton, scenario);
  const weir = await playOn(pair.weir, scenario);
  return tally.judge(scenario.name, triton, weir, scenario.varies);
};

/** Plays scenarios on servers that hold their models alone. Gives those on which the servers did not agree, with how. */
const playAll = async (
  { scenarios, lanes, ...start }: ScenarioGroup,
  folder: string,
  tally: Tally,
): Promise<readonly (readonly [Scenario, Verdict])[]> => {
  const waiting = [...scenarios];
  const differing: [Scenario, Verdict][] = [];
  const pair = await startPair(start, writeRepository(scenarios, folder));
  const lane = async (): Promise<void> => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      const verdict = await compare(pair, scenario, tally);
      if (verdict.unexpected.length === 0) tally.add(scenario.name, verdict);
      else differing.push([scenario, verdict]);
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    await pair.stop();
  }
  return differing;
};

const runGroup = async (group: ScenarioGroup, { attempts, folder, tally }: Run): Promise<void> => {
  let differing = await playAll(group, folder, tally);
  for (let attempt = 1; attempt < attempts && differing.length > 0; attempt++) {
    differing = await playAll({ ...group, lanes: 1, scenarios: differing.map(([scenario]) => scenario) }, folder, tally);
  }
  for (const [{ name }, verdict] of differing) tally.add(name, verdict);
};

export interface Run {
  /** Part of the names of what is to be played. */
  readonly only: string;
  /**
   * How often a scenario is played whose servers do not agree; from the second time on alone, and on fresh servers. A busy machine moves the
   * moments of requests.
   */
  readonly attempts: number;
  /** For the repositories. */
  readonly folder: string;
  readonly tally: Tally;
}

/** Requests at given times to Python models and ensembles that both servers have alike. */
export const runScenarios = async (run: Run): Promise<void> => {
  for (const group of scenarioGroups) {
    const scenarios = group.scenarios.filter(({ name }) => name.includes(run.only));
    if (scenarios.length > 0) await runGroup({ ...group, scenarios }, run);
  }
};
