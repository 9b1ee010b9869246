import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectGrpc } from './ask-grpc.ts';
import { askHttp } from './ask-http.ts';
import type { Case, Outcome } from './case.ts';
import { grpcCases } from './cases/grpc.ts';
import { httpInfer } from './cases/http-infer.ts';
import { httpInformation } from './cases/http-information.ts';
import { type Difference, differences } from './compare.ts';
import { kept } from './kept.ts';
import { writeRepositories } from './repository.ts';
import { startTarget, type Target } from './servers.ts';

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' }, verbose: { type: 'boolean', default: false } } });

const cases: readonly Case[] = [...httpInformation, ...httpInfer, ...grpcCases].filter(({ name }) => name.includes(options.only));

const folder = mkdtempSync(join(tmpdir(), 'weir-conformance-'));
const repositories = { weir: join(folder, 'weir'), triton: join(folder, 'triton') };
writeRepositories(repositories.weir, repositories.triton);

/** Asks one server everything, one question after another. */
const askAll = async (target: Target): Promise<ReadonlyMap<string, Outcome>> => {
  const grpc = connectGrpc(target.grpcPort);
  const outcomes = new Map<string, Outcome>();
  for (const question of cases) {
    const answer = (): Promise<Outcome> => {
      if (question.kind === 'http') return askHttp(question, target.httpPort);
      return question.kind === 'call' ? grpc.call(question) : grpc.stream(question);
    };
    outcomes.set(question.name, await answer().catch((error: unknown) => ({ failure: String(error) })));
  }
  grpc.close();
  return outcomes;
};

const outcomesOf = async (name: 'weir' | 'triton'): Promise<ReadonlyMap<string, Outcome>> => {
  const target = await startTarget(name, repositories[name]);
  try {
    return await askAll(target);
  } finally {
    await target.stop();
  }
};

const show = (value: unknown): string => (value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value)).slice(0, 300));

const print = (name: string, found: readonly Difference[]): void => {
  console.log(`\n${name}`);
  for (const { path, triton, weir } of found) console.log(`  ${path}\n    triton  ${show(triton)}\n    weir    ${show(weir)}`);
};

try {
  const [triton, weir] = [await outcomesOf('triton'), await outcomesOf('weir')];
  const needed = new Set<number>();
  let differing = 0;
  let keptCount = 0;
  for (const { name, varies } of cases) {
    const found = differences(triton.get(name), weir.get(name), varies);
    const unexpected = found.filter(({ path }) => {
      const entry = kept.findIndex((one) => one.cases.test(name) && one.path.test(path));
      if (entry >= 0) needed.add(entry);
      return entry < 0;
    });
    if (unexpected.length > 0) {
      differing++;
      print(name, unexpected);
    } else if (found.length > 0) {
      keptCount++;
      if (options.verbose) print(`${name} (kept)`, found);
    }
  }
  const idle = options.only === '' ? kept.filter((_, entry) => !needed.has(entry)) : [];
  for (const { cases: pattern } of idle) console.log(`\nkept without need: ${pattern}`);
  console.log(
    `\n${cases.length} questions: ${cases.length - differing - keptCount} the same, ${keptCount} differ on purpose, ${differing} differ`,
  );
  if (differing > 0 || idle.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
