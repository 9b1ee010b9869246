import { defineModel, ModelError, perRequest } from 'weir/backend';

let word = '';

export const model = defineModel({
  load({ parameters }) {
    word = parameters.get('word') ?? '';
  },
  execute: perRequest((request) => {
    const [name = ''] = request.input('NAME', 'BYTES').strings();
    if (name === '') throw new ModelError('expected NAME to be somebody', 'INVALID_ARGUMENT');
    return { outputs: { GREETING: { shape: [1], data: [`${word}, ${name}!`] } } };
  }),
});
