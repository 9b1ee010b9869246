import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelFiles } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';

/**
 * The ONNX file of a model version: its model file, or the `model.onnx` inside where that is a folder. Models are loaded by path, since
 * weights in files beside them are found no other way.
 *
 * Rejects with UNAVAILABLE when there is none.
 */
export const modelPath = async ({ modelName, versionDirectory, modelFile }: ModelFiles): Promise<string> => {
  const path = join(versionDirectory, modelFile);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return path;
  const inside = join(path, 'model.onnx');
  if (found?.isDirectory() && (await stat(inside).catch(() => undefined))?.isFile()) return inside;
  throw new InferError('UNAVAILABLE', `unable to find '${found?.isDirectory() ? inside : path}' for model instance '${modelName}'`);
};
