import { join } from 'node:path';
import { connectGrpc } from './ask-grpc.ts';
import { askHttp } from './ask-http.ts';
import type { Case, Outcome } from './case.ts';
import { grpcCases } from './cases/grpc.ts';
import { httpInfer } from './cases/http-infer.ts';
import { httpInformation } from './cases/http-information.ts';
import { writeRepositories } from './repository.ts';
import { startTarget, type Target } from './servers.ts';
import type { Tally } from './verdict.ts';

/** Asks one server everything, one question after another. */
const askAll = async (cases: readonly Case[], target: Target): Promise<ReadonlyMap<string, Outcome>> => {
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

/** Single questions, to models that are Python there and identity or ONNX here. */
export const runQuestions = async (only: string, folder: string, tally: Tally): Promise<void> => {
  const cases = [...httpInformation, ...httpInfer, ...grpcCases].filter(({ name }) => name.includes(only));
  if (cases.length === 0) return;
  const repositories = { weir: join(folder, 'weir'), triton: join(folder, 'triton') };
  writeRepositories(repositories.weir, repositories.triton);
  const outcomesOf = async (name: 'weir' | 'triton'): Promise<ReadonlyMap<string, Outcome>> => {
    const target = await startTarget(name, repositories[name]);
    try {
      return await askAll(cases, target);
    } finally {
      await target.stop();
    }
  };
  const [triton, weir] = [await outcomesOf('triton'), await outcomesOf('weir')];
  for (const { name, varies } of cases) tally.add(name, tally.judge(name, triton.get(name), weir.get(name), varies));
};
