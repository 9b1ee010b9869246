// The same code with another word in its config.
export { model } from '../../greet_english/1/model.ts';
