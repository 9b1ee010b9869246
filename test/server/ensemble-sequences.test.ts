import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensembleModel, identityModel, type StepText } from '../repository/support/ensembles.ts';
import type { Files } from '../repository/support/folders.ts';
import { EnsembleServer, type Question } from './support/ensemble-server.ts';

const one = 'TYPE_INT32 dims: 1';
const flag = (kind: string): string => `{ name: "${kind}" control { kind: CONTROL_SEQUENCE_${kind} int32_false_true: [ 0, 1 ] } }`;
const sumConfig = (backend: string, strategy: string, controls: readonly string[]): string => `backend: "${backend}" max_batch_size: 4
  instance_group { count: 1 kind: KIND_CPU }
  input { name: "INPUT" data_type: ${one} } output { name: "OUTPUT" data_type: ${one} }
  sequence_batching { ${strategy} max_sequence_idle_microseconds: 60000000 control_input [ ${controls.join(', ')} ] }`;
const idControl = (type: string): string => `{ name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${type} } }`;

/** Names another sequence for whoever comes behind: the one that its input says, which begins and ends there. */
const naming = `import { defineModel, perRequest } from 'weir/backend';
  export default defineModel({
    execute: perRequest((request) => {
      const { data, shape } = request.input('X', 'INT32');
      const parameters = { sequence_id: BigInt(1000 + data[0]), sequence_start: true, sequence_end: true };
      return { outputs: { Y: { shape, data } }, parameters };
    }),
  });`;

const step = (model: string, from: string, to: string): StepText => ({ model, in: { X: from }, out: { Y: to } });
const sum = (model: string, from: string, to: string): StepText => ({ model, in: { INPUT: from }, out: { OUTPUT: to } });
const inOut = { in: { IN: one }, out: { OUT: one }, rest: 'max_batch_size: 1' };

const files: Files = {
  ...identityModel('echo', { in: { X: one }, out: { Y: one }, rest: 'max_batch_size: 4' }),
  'direct/config.pbtxt': sumConfig('sequence', 'direct { }', [flag('START'), flag('READY')]),
  'direct/1/': '',
  'oldest/config.pbtxt': sumConfig('dyna_sequence', 'oldest { max_candidate_sequences: 4 }', [
    flag('START'),
    flag('END'),
    flag('READY'),
    idControl('TYPE_STRING'),
  ]),
  'oldest/1/': '',
  'naming/config.pbtxt': `backend: "javascript" max_batch_size: 4 input { name: "X" data_type: ${one} } output { name: "Y" data_type: ${one} }`,
  'naming/1/model.ts': naming,
  ...ensembleModel('summed', [step('echo', 'IN', 't'), sum('direct', 't', 'OUT')], inOut),
  ...ensembleModel('aged', [sum('oldest', 'IN', 't'), step('echo', 't', 'OUT')], inOut),
  ...ensembleModel('around', [{ model: 'summed', in: { IN: 'IN' }, out: { OUT: 'OUT' } }], inOut),
  ...ensembleModel('named', [step('naming', 'IN', 't'), sum('direct', 't', 'OUT')], inOut),
};

let ensembles: EnsembleServer;

beforeAll(async () => {
  ensembles = await EnsembleServer.start(files);
});

afterAll(() => ensembles.close());

let asked = 0;

interface Part {
  readonly start?: boolean;
  readonly end?: boolean;
}

const part = (model: string, id: number | string | undefined, value: number, { start = false, end = false }: Part = {}): Question => ({
  model,
  id: `s${asked++}`,
  inputs: [{ name: 'IN', datatype: 'INT32', shape: [1, 1], data: [value] }],
  ...(id === undefined ? {} : { parameters: { sequence_id: id, sequence_start: start, sequence_end: end } }),
});

describe.each([0, 1, 2])('sequences through ensembles, by way %d', (index) => {
  const sums = async (questions: readonly Question[]): Promise<readonly unknown[]> => {
    const said: unknown[] = [];
    for (const question of questions) {
      const { outputs, error } = (await ensembles.ways[index]?.ask(question).said) ?? {};
      said.push(error ?? outputs?.OUT);
    }
    return said;
  };

  it.each(['summed', 'around'])('%s keeps two of them apart', async (model) => {
    const said = await sums([
      part(model, 7, 1, { start: true }),
      part(model, 8, 10, { start: true }),
      part(model, 7, 2),
      part(model, 8, 20),
      part(model, 7, 3, { end: true }),
      part(model, 8, 30, { end: true }),
    ]);
    expect(said).toEqual([1, 10, 3, 30, 6, 60]);
    await ensembles.settled();
  });

  it('knows them by names, and adds the number that is one', async () => {
    expect(
      await sums([
        part('aged', 'a', 1, { start: true }),
        part('aged', '100', 5, { start: true }),
        part('aged', 'a', 2, { end: true }),
        part('aged', '100', 6, { end: true }),
      ]),
    ).toEqual([1, 5, 3, 111]);
  });

  it('tells what is wrong with one', async () => {
    expect(await sums([part('around', 9, 1), part('summed', undefined, 1)])).toEqual([
      expect.stringMatching(
        /^in ensemble 'around', in ensemble 'summed', .*must specify the START flag.* \(step 1, model 'direct'\) \(step 0, model 'summed'\)$/,
      ),
      expect.stringMatching(/^in ensemble 'summed', .*non-zero or non-empty correlation ID.* \(step 1, model 'direct'\)$/),
    ]);
    await ensembles.settled();
  });

  it('takes the sequence that a step names in the place of its own', async () => {
    // Without that the second request would have to wait for a START of sequence 5.
    expect(await sums([part('named', 5, 3), part('named', undefined, 4)])).toEqual([3, 4]);
    await ensembles.settled();
  });
});

it('an answer says the sequence that a step has named', async () => {
  const response = await fetch(`${ensembles.url}/v2/models/named/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: part('named', undefined, 6).inputs, parameters: { sequence_id: 5 } }),
  });
  expect(JSON.parse(await response.text()).parameters).toEqual({ sequence_id: 1006, sequence_start: true, sequence_end: true });
});
