import { type Ask, int32, parameters, repeater, type Scenario } from '../scenario.ts';

interface Options {
  readonly waitMs?: number;
  readonly stream?: string;
  readonly parameters?: Readonly<Record<string, number | string | boolean>>;
  /** Has the batch dimension. */
  readonly rows?: number;
}

const ask = (model: string, id: string, atMs: number, count: number, options: Options = {}): Ask => {
  const shape = options.rows === undefined ? [1] : [options.rows, 1];
  return {
    atMs,
    id,
    model,
    inputs: { COUNT: int32(shape, count), WAIT: int32(shape, options.waitMs ?? 0) },
    parameters: parameters(options.parameters ?? {}),
    ...(options.stream === '' ? {} : { stream: options.stream ?? 's' }),
  };
};

const empty = { triton_enable_empty_final_response: true };

/** Errors of a decoupled model are not asked for: the real one dies of them. */
export const decoupled: readonly Scenario[] = [
  {
    name: 'decoupled: no answer at all',
    models: [repeater('nothing')],
    asks: [ask('nothing', 'a', 0, 0, { parameters: empty })],
  },
  {
    name: 'decoupled: one answer, the flag behind it',
    models: [repeater('one_behind')],
    asks: [ask('one_behind', 'a', 0, 1, { parameters: empty })],
  },
  {
    name: 'decoupled: the flag on the last answer',
    models: [repeater('last_flag')],
    asks: [ask('last_flag', 'a', 0, 3, { parameters: { final: 'last' } })],
  },
  {
    name: 'decoupled: the flag on the last answer, and an empty one wanted',
    models: [repeater('last_empty')],
    asks: [ask('last_empty', 'a', 0, 2, { parameters: { ...empty, final: 'last' } })],
  },
  {
    name: 'decoupled: many answers of two requests on one stream',
    models: [repeater('interleaved')],
    asks: [
      ask('interleaved', 'a', 0, 4, { waitMs: 200, parameters: empty }),
      ask('interleaved', 'b', 100, 3, { waitMs: 200, parameters: empty }),
    ],
  },
  {
    name: 'decoupled: many answers without a pause',
    models: [repeater('quick')],
    asks: [ask('quick', 'a', 0, 100, { parameters: empty })],
  },
  {
    name: 'decoupled: with dynamic batching',
    models: [repeater('batched', 'dynamic_batching { max_queue_delay_microseconds: 300000 }', 4)],
    asks: [
      ask('batched', 'a', 0, 2, { rows: 1, waitMs: 100, parameters: empty }),
      ask('batched', 'b', 100, 1, { rows: 1, waitMs: 100, parameters: empty }),
    ],
  },
  {
    name: 'decoupled: over a unary call',
    models: [repeater('unary')],
    asks: [ask('unary', 'a', 0, 1, { stream: '' })],
  },
];
