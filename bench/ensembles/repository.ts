import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityConfig } from '../identity-contest.ts';

export const floats = 16;

const tensors = `max_batch_size: 64
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ ${floats} ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ ${floats} ] } ]
`;

/** An ensemble that asks the identity model so many times, one after the other. */
const chainConfig = (steps: number): string => {
  const nameOf = (place: number): string => (place === 0 ? 'INPUT0' : place === steps ? 'OUTPUT0' : `between_${place}`);
  const texts = Array.from(
    { length: steps },
    (_, place) => `  step { model_name: "identity" model_version: -1
    input_map { key: "INPUT0" value: "${nameOf(place)}" } output_map { key: "OUTPUT0" value: "${nameOf(place + 1)}" } }`,
  );
  return `platform: "ensemble"\n${tensors}ensemble_scheduling {\n${texts.join('\n')}\n}\n`;
};

/** Floats of each of the answers that flood a slow step. */
export const floodFloats = 1024;

const flood = `backend: "javascript"
model_transaction_policy { decoupled: true }
input [ { name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "CHUNK" data_type: TYPE_FP32 dims: [ ${floodFloats} ] } ]
`;

const floodModel = `export default {
  *execute([request], context) {
    const [count] = request.input('COUNT', 'INT32').data;
    for (let index = 0; index < count; index++) {
      const data = context.allocate('FP32', [${floodFloats}]);
      data[0] = index;
      yield { outputs: { CHUNK: { shape: [${floodFloats}], data } } };
    }
  },
};
`;

const slow = `backend: "identity"
input [ { name: "CHUNK" data_type: TYPE_FP32 dims: [ ${floodFloats} ] } ]
output [ { name: "SAME" data_type: TYPE_FP32 dims: [ ${floodFloats} ] } ]
instance_group [ { kind: KIND_CPU count: 16 } ]
parameters { key: "execute_delay_ms" value: { string_value: "2" } }
`;

const flooded = `platform: "ensemble"
model_transaction_policy { decoupled: true }
input [ { name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "SAME" data_type: TYPE_FP32 dims: [ ${floodFloats} ] } ]
ensemble_scheduling {
  step { model_name: "flood" model_version: -1 input_map { key: "COUNT" value: "COUNT" } output_map { key: "CHUNK" value: "chunk" } }
  step { model_name: "slow" model_version: -1 input_map { key: "CHUNK" value: "chunk" } output_map { key: "SAME" value: "SAME" } }
}
`;

export const chainLengths = [1, 2, 3, 4] as const;

export const chainName = (steps: number): string => `chain_${steps}`;

/** The identity model, ensembles of one to four times that model, and `flooded`, whose first step answers faster than its second can take. */
export const writeEnsembles = (): string => {
  const repository = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  const write = (name: string, config: string, model?: string): void => {
    mkdirSync(join(repository, name, '1'), { recursive: true });
    writeFileSync(join(repository, name, 'config.pbtxt'), config);
    if (model !== undefined) writeFileSync(join(repository, name, '1', 'model.mjs'), model);
  };
  write('identity', identityConfig(floats));
  for (const steps of chainLengths) write(chainName(steps), chainConfig(steps));
  write('flood', flood, floodModel);
  write('slow', slow);
  write('flooded', flooded);
  return repository;
};
