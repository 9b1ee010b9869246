import { expect, it } from 'vitest';
import { toDocument } from '../../../src/repository/config/document.ts';
import { parseConfigText } from '../../../src/repository/config/parse.ts';
import { modelConfigType } from '../../../src/repository/config/proto.ts';

const documentOf = (text: string): Record<string, unknown> => toDocument(modelConfigType, parseConfigText(text, 'config.pbtxt').config);

it('has the order of declaration, all scalars, and no message that is not set', () => {
  const document = documentOf('instance_group { } dynamic_batching { } name: "m"');
  expect(Object.keys(document)).toEqual([
    'name',
    'platform',
    'backend',
    'runtime',
    'max_batch_size',
    'input',
    'output',
    'batch_input',
    'batch_output',
    'dynamic_batching',
    'instance_group',
    'default_model_filename',
    'cc_model_filenames',
    'metric_tags',
    'parameters',
    'model_warmup',
  ]);
  expect(Object.keys(Object(document.instance_group)[0])).toEqual([
    'name',
    'kind',
    'count',
    'gpus',
    'secondary_devices',
    'profile',
    'passive',
    'host_policy',
  ]);
});

it('leaves unset members of a oneof out, and keeps those that are set to their default', () => {
  const { model_warmup } = documentOf('model_warmup { inputs { key: "a" value { zero_data: false } } inputs { key: "b" value { } } }');
  expect(model_warmup).toEqual([
    {
      name: '',
      batch_size: 0,
      inputs: { a: { data_type: 'TYPE_INVALID', dims: [], zero_data: false }, b: { data_type: 'TYPE_INVALID', dims: [] } },
      count: 0,
    },
  ]);
});

it('writes 64 bits as numbers, past 2^53 as bigint, and as strings where Triton does', () => {
  const document = documentOf(`
    dynamic_batching { max_queue_delay_microseconds: 100 priority_levels: 18446744073709551615 priority_queue_policy { key: 9 value { } } }
    version_policy { specific { versions: [ 1, 9223372036854775807 ] } }
    instance_group { secondary_devices { device_id: 5 } }
    optimization { cuda { graph_spec { input { key: "a" value { dim: [ 1, 2 ] } } } } }`);
  expect(document).toMatchObject({
    dynamic_batching: { max_queue_delay_microseconds: 100, priority_levels: 18446744073709551615n, priority_queue_policy: { 9: {} } },
    version_policy: { specific: { versions: [1, 9223372036854775807n] } },
    instance_group: [{ secondary_devices: [{ kind: 'KIND_NVDLA', device_id: '5' }] }],
    optimization: { cuda: { graph_spec: [{ input: { a: { dim: ['1', '2'] } } }] } },
  });
});
