import { join } from 'node:path';
import { runCommand } from '../src/cli/run-command.ts';

// `npm start -- --flags`: the example models, unless the flags name a repository of their own.
const given = process.argv.slice(2);
const namesRepository = given.some((argument) => /^--model-(r|s)/.test(argument));
const examples = join(import.meta.dirname, '..', 'examples', 'models');

await runCommand(namesRepository ? given : [`--model-repository=${examples}`, ...given]);
