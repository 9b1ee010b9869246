import { expect, it } from 'vitest';
import { defaultMaxBatchSize, settingsOfBackend, unreadSettings } from '../../src/server/backend-settings.ts';

const setting = (backend: string, key: string, value: string) => ({ backend, key, value });

it("puts a backend's own settings before those for all, whatever their order", () => {
  const settings = [setting('onnxruntime', 'intra_op_thread_count', '2'), setting('', 'intra_op_thread_count', '8')];
  expect(settingsOfBackend(settings, 'onnxruntime').get('intra_op_thread_count')).toBe('2');
  expect(settingsOfBackend(settings, 'identity').size).toBe(0);
});

it('warns about what nothing reads', () => {
  const read = [setting('', 'default-max-batch-size', '8'), setting('onnxruntime', 'inter_op_thread_count', '1')];
  expect(unreadSettings(read)).toEqual([]);
  expect(
    unreadSettings([setting('', 'colour', 'red'), setting('openvino', 'stub-timeout-seconds', '9'), setting('identity', 'colour', 'red')]),
  ).toEqual([
    "--backend-config=colour=red has no effect: there is no setting 'colour'",
    "--backend-config=openvino,stub-timeout-seconds=9 has no effect: there is no backend 'openvino'",
    "--backend-config=identity,colour=red has no effect: there is no setting 'colour'",
  ]);
});

it('has 4 rows for a model that can batch and does not say how many, unless told otherwise', () => {
  expect(defaultMaxBatchSize([], 'onnxruntime')).toBe(4);
  expect(defaultMaxBatchSize([setting('', 'default-max-batch-size', '0')], 'onnxruntime')).toBe(0);
  expect(
    defaultMaxBatchSize(
      [setting('', 'default-max-batch-size', '0'), setting('onnxruntime', 'default-max-batch-size', '16')],
      'onnxruntime',
    ),
  ).toBe(16);
  expect(() => defaultMaxBatchSize([setting('', 'default-max-batch-size', '-1')], 'onnxruntime')).toThrow(
    "failed to convert default-max-batch-size '-1' to integral number",
  );
});
