import { configTypeOf } from '../../../../src/repository/config/datatypes.ts';
import type { DataPlane } from '../../../../src/streams/inference/data-plane.ts';
import { type Datatype, datatypes } from '../../../../src/streams/tensors/datatype.ts';
import { folderOf } from '../../../repository/support/folders.ts';
import { openRepository } from '../../../repository/support/open-repository.ts';

interface IdentityModel {
  readonly datatype: Datatype;
  readonly dims: string;
  readonly more?: string;
  /** How many inputs and outputs. */
  readonly count?: number;
}

/** Of an identity model of inputs INPUT0, … and outputs OUTPUT0, …. */
const identityConfig = ({ datatype, dims, more = '', count = 1 }: IdentityModel): string => {
  const tensors = (kind: string): string =>
    Array.from(
      { length: count },
      (_, n) => `${kind.toLowerCase()} { name: "${kind}${n}" data_type: ${configTypeOf(datatype)} dims: [ ${dims} ] }`,
    ).join('\n');
  return `backend: "identity"\n${tensors('INPUT')}\n${tensors('OUTPUT')}\n${more}\n`;
};

const delayed = 'parameters { key: "execute_delay_ms" value { string_value: "600000" } }';

const configs: ReadonlyMap<string, string> = new Map([
  ...datatypes.map((datatype) => [`identity_${datatype.toLowerCase()}`, identityConfig({ datatype, dims: '-1' })] as const),
  ['two', identityConfig({ datatype: 'INT32', dims: '4', count: 2, more: 'max_batch_size: 8' })],
  ['matrix', identityConfig({ datatype: 'FP32', dims: '-1, -1' })],
  ['string', identityConfig({ datatype: 'BYTES', dims: '1' })],
  ['strings', identityConfig({ datatype: 'BYTES', dims: '2' })],
  ['batched', identityConfig({ datatype: 'FP32', dims: '2, -1', more: 'max_batch_size: 4' })],
  ['slow', identityConfig({ datatype: 'INT32', dims: '-1', more: delayed })],
]);

/** A real repository of identity models: these of the names above, `two` and `identity_int32` unless told otherwise. */
export const identityDataPlane = async (...models: readonly string[]): Promise<DataPlane> => {
  const files: Record<string, string> = {};
  for (const name of models.length === 0 ? ['two', 'identity_int32'] : models) {
    files[`${name}/config.pbtxt`] = configs.get(name) ?? '';
    files[`${name}/1/`] = '';
  }
  const { repository, report } = await openRepository([await folderOf(files)]);
  if (report.failure !== undefined) throw new Error(JSON.stringify(report.models));
  return repository.dataPlane;
};
