import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, answerOf } from './answer.ts';
import type { GrpcTarget, LiveStream } from './ask-grpc.ts';
import type { Outcome } from './case.ts';
import { countersOf } from './counters.ts';
import type { Ask, Scenario } from './scenario.ts';
import type { Target } from './servers.ts';

/** Answers that come within it of the one before came together: what lies between two servers' clocks must not count. */
const togetherMs = 50;

/** Counters follow the answers. */
const settleMs = 200;

/** A silence after which no more answers come. */
const limitMs = 6000;

interface Heard {
  readonly atMs: number;
  readonly id: string;
  readonly answer: Answer;
}

const requestOf = ({ id, model, inputs, parameters = {}, outputs = [] }: Ask): object => ({
  model_name: model,
  id,
  parameters,
  inputs: Object.entries(inputs).map(([name, { datatype, shape }]) => ({ name, datatype, shape })),
  outputs: outputs.map((name) => ({ name })),
  raw_input_contents: Object.values(inputs).map(({ bytes }) => bytes),
});

const answerIn = (outcome: Outcome): Answer => {
  if (outcome.status !== 'OK') return { status: outcome.status, details: outcome.details };
  return answerOf(outcome.message as Parameters<typeof answerOf>[0]);
};

interface StreamMessage {
  readonly error_message: string;
  readonly infer_response: Parameters<typeof answerOf>[0] | undefined;
}

const streamed = (message: StreamMessage): Answer => {
  const { error_message: error, infer_response: response } = message;
  if (error === '') return response === undefined ? {} : answerOf(response);
  return { error, parameters: response?.parameters };
};

const isFinal = ({ parameters }: Answer): boolean => {
  const final = (parameters as Readonly<Record<string, { readonly bool_param?: boolean }>> | undefined)?.triton_final_response;
  return final?.bool_param === true;
};

/** The ids in the order in which their answers came, those that came together in one group and in the order of their names. */
const groupsOf = (heard: readonly Heard[]): readonly (readonly string[])[] => {
  const groups: string[][] = [];
  let previousMs = Number.NEGATIVE_INFINITY;
  for (const { atMs, id } of heard) {
    if (atMs - previousMs > togetherMs) groups.push([]);
    groups.at(-1)?.push(id);
    previousMs = atMs;
  }
  return groups.map((group) => group.sort());
};

const play = (asks: readonly Ask[], grpc: GrpcTarget): Promise<readonly Heard[]> =>
  new Promise((resolve) => {
    const begin = performance.now();
    const heard: Heard[] = [];
    const open = new Set(asks.map(({ id }) => id));
    const streams = new Map<string, LiveStream>();
    const timers = new Set<NodeJS.Timeout>();
    const later = (work: () => void, delayMs: number): void => {
      timers.add(setTimeout(work, delayMs));
    };
    let isOver = false;
    const finish = (): void => {
      isOver = true;
      clearTimeout(limit);
      for (const timer of timers) clearTimeout(timer);
      for (const stream of streams.values()) stream.end();
      resolve(heard);
    };
    const limit = setTimeout(finish, limitMs);
    const hear = (id: string, answer: Answer, isLast: boolean): void => {
      if (isOver) return;
      limit.refresh();
      heard.push({ atMs: performance.now() - begin, id, answer });
      if (!isLast || !open.delete(id)) return;
      for (const ask of asks) if (ask.after === id) later(() => send(ask), ask.atMs);
      if (open.size === 0) later(finish, togetherMs);
    };
    const streamOf = (name: string): LiveStream => {
      const known = streams.get(name);
      if (known !== undefined) return known;
      const stream = grpc.openStream(
        (message) => {
          const answer = streamed(message as StreamMessage);
          const id = (message as StreamMessage).infer_response?.id ?? '';
          hear(id, answer, isFinal(answer));
        },
        (outcome) => {
          if (outcome.status !== 'OK') hear(name, { status: outcome.status, details: outcome.details }, false);
        },
      );
      streams.set(name, stream);
      return stream;
    };
    const send = (ask: Ask): void => {
      limit.refresh();
      if (ask.stream !== undefined) {
        streamOf(ask.stream).send(requestOf(ask));
        return;
      }
      const cancel = grpc.infer(requestOf(ask), (outcome) => hear(ask.id, answerIn(outcome), true));
      if (ask.cancelAtMs !== undefined) later(cancel, ask.cancelAtMs - ask.atMs);
    };
    for (const ask of asks) if (ask.after === undefined) later(() => send(ask), ask.atMs);
    if (asks.length === 0) finish();
  });

const answersOf = (asks: readonly Ask[], heard: readonly Heard[]): Readonly<Record<string, readonly Answer[]>> => {
  const ids = new Set([...asks, ...heard].map(({ id }) => id));
  return Object.fromEntries([...ids].map((id) => [id, heard.filter((one) => one.id === id).map(({ answer }) => answer)]));
};

/** Plays a scenario on one server: the answers of each request, the order in which they came, and the counters afterwards. */
export const playScenario = async ({ models, asks }: Scenario, target: Target, grpc: GrpcTarget): Promise<Outcome> => {
  const heard = await play(asks, grpc);
  await sleep(settleMs);
  const counters = await countersOf(
    target,
    models.map(({ name }) => name),
  ).catch((error: unknown) => ({ failure: String(error) }));
  // Of requests that wait for each other's answers the order says nothing, and the gaps are the machine's.
  const isInTurn = asks.slice(1).every(({ after }) => after !== undefined);
  return { answers: answersOf(asks, heard), ...(isInTurn ? {} : { finished: groupsOf(heard) }), counters };
};
