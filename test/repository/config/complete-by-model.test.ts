import { describe, expect, it } from 'vitest';
import { completeByModel } from '../../../src/repository/config/complete-by-model.ts';
import { parseConfigText } from '../../../src/repository/config/parse.ts';

const written = (text: string) => parseConfigText(text, 'config.pbtxt').config;

describe('a config completed by the code of its model', () => {
  it('takes what may be completed, with every default filled in, and leaves the rest as it was', () => {
    const config = completeByModel(written('name: "m" backend: "python"'), {
      name: 'other',
      max_batch_size: 4,
      input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [-1] }],
      dynamic_batching: {},
      model_transaction_policy: { decoupled: true },
      instance_group: [{ count: 7 }],
    });
    expect(config).toMatchObject({
      name: 'm',
      backend: 'python',
      max_batch_size: 4,
      input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [-1], format: 'FORMAT_NONE', optional: false }],
      output: [],
      dynamic_batching: { preferred_batch_size: [], priority_levels: 0 },
      model_transaction_policy: { decoupled: true },
      instance_group: [],
    });
  });

  it('keeps the scheduler that is written, as it is written', () => {
    const config = completeByModel(written('dynamic_batching { preferred_batch_size: 2 }'), { dynamic_batching: {} });
    expect(config.dynamic_batching).toMatchObject({ preferred_batch_size: [2] });
  });

  it('refuses another scheduler than is written', () => {
    expect(() => completeByModel(written('sequence_batching { }'), { dynamic_batching: {} })).toThrow(
      'Cannot update scheduling choice from sequence_batching to dynamic_batching when auto-completing.',
    );
  });

  it('refuses what is no config', () => {
    expect(() => completeByModel(written('name: "m"'), { input: 7 })).toThrow(
      "the model's code has completed the config of 'm' with no config",
    );
  });
});
