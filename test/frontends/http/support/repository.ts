import type { RepositoryConfig } from '../../../../src/repository/repository.ts';
import type { DataPlane } from '../../../../src/streams/inference/data-plane.ts';
import type { Datatype } from '../../../../src/streams/tensors/datatype.ts';
import { folderOf } from '../../../repository/support/folders.ts';
import { openRepository } from '../../../repository/support/open-repository.ts';

const configType = (datatype: Datatype): string => `TYPE_${datatype === 'BYTES' ? 'STRING' : datatype}`;

interface IdentityModel {
  readonly datatype: Datatype;
  readonly dims: string;
  readonly more?: string;
  /** How many inputs and outputs. */
  readonly count?: number;
}

/** An identity model of inputs INPUT0, … and outputs OUTPUT0, …. */
export const identityConfig = ({ datatype, dims, more = '', count = 1 }: IdentityModel): string => {
  const tensors = (kind: string): string =>
    Array.from(
      { length: count },
      (_, n) => `${kind.toLowerCase()} { name: "${kind}${n}" data_type: ${configType(datatype)} dims: [ ${dims} ] }`,
    ).join('\n');
  return `backend: "identity"\n${tensors('INPUT')}\n${tensors('OUTPUT')}\n${more}\n`;
};

export const allDatatypes: readonly Datatype[] = [
  'BOOL',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP16',
  'FP32',
  'FP64',
  'BYTES',
  'BF16',
];

/** `identity_int32`, … of any length; `two` with two inputs in batches; `raw`, `slow`, and the like. */
export const identityDataPlane = async (options: Partial<RepositoryConfig> = {}): Promise<DataPlane> => {
  const files: Record<string, string> = {};
  const add = (name: string, config: string): void => {
    files[`${name}/config.pbtxt`] = config;
    files[`${name}/1/`] = '';
  };
  for (const datatype of allDatatypes) add(`identity_${datatype.toLowerCase()}`, identityConfig({ datatype, dims: '-1' }));
  add('two', identityConfig({ datatype: 'INT32', dims: '4', count: 2, more: 'max_batch_size: 8' }));
  add('matrix', identityConfig({ datatype: 'FP32', dims: '-1, -1' }));
  add('string', identityConfig({ datatype: 'BYTES', dims: '1' }));
  add('strings', identityConfig({ datatype: 'BYTES', dims: '2' }));
  add('batched', identityConfig({ datatype: 'FP32', dims: '2, -1', more: 'max_batch_size: 4' }));
  add(
    'slow',
    identityConfig({ datatype: 'INT32', dims: '-1', more: 'parameters { key: "execute_delay_ms" value { string_value: "600000" } }' }),
  );
  const { repository, report } = await openRepository([await folderOf(files)], options);
  if (report.failure !== undefined) throw new Error(JSON.stringify(report.models));
  return repository.dataPlane;
};
