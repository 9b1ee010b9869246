import { defineModel, ModelError, perRequest } from 'weir/backend';

const prefix = 'model_for_';
const targets = new Map<string, string>();

export const model = defineModel({
  load({ parameters }) {
    for (const [key, target] of parameters) if (key.startsWith(prefix)) targets.set(key.slice(prefix.length), target);
  },
  execute: perRequest(async (request, context) => {
    const [language = ''] = request.input('LANGUAGE', 'BYTES').strings();
    const target = targets.get(language);
    if (target === undefined) {
      throw new ModelError(`expected LANGUAGE to be one of ${[...targets.keys()].join(', ')}; got '${language}'`, 'INVALID_ARGUMENT');
    }
    try {
      // With `request` the call is cancelled when the caller of this request goes.
      const answer = await context.infer({ model: target, inputs: { NAME: request.input('NAME') } }, { request });
      return { outputs: { GREETING: answer.output('GREETING', 'BYTES') } };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      throw new ModelError(`no greeting from '${target}': ${error.message}`, error.code, { cause: error });
    }
  }),
});
