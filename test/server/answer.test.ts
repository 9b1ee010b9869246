import { expect, it } from 'vitest';
import { Server } from '../../src/index.ts';
import { identity, writeModel } from '../support/onnx-models.ts';
import { modelRepository } from './support/model-repository.ts';

it('keeps the answers of a model that uses its memory again', async () => {
  await using models = await modelRepository({});
  await writeModel(models.path, 'same', { onnx: identity({ dims: ['batch', 2] }) });
  const server = await Server.start({ modelRepository: models.path });
  try {
    const ask = (values: readonly number[]) => server.model('same').inferOnce({ inputs: { INPUT0: { shape: [1, 2], values } } });
    const first = await ask([1, 2]);
    // More than an instance has memories for.
    for (let round = 0; round < 8; round++) await ask([7, 7]);
    expect(first.values('OUTPUT0')).toEqual(Float32Array.of(1, 2));
  } finally {
    await server.close();
  }
});
