import type { ErrorCode } from '../../streams/inference/error.ts';
import type { ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import type { Execution, ModelResponse, ModelResponses } from './model-answer.ts';
import type { ExecuteContext, LoadContext } from './model-context.ts';
import type { ModelRequest } from './model-request.ts';

/** A model: what a model file exports as `default`, or as `model`. Each instance has the file to itself, in a thread of its own. */
export interface Model {
  /** Before the first request. What it throws makes the load fail. */
  load?(context: LoadContext): void | Promise<void>;
  /**
   * Runs a batch. An array, or a promise of one, answers each request in its place; a generator yields any number of answers.
   * What it throws fails every request of the batch; a ModelError in the array, or as an answer's `error`, that one alone.
   */
  execute(requests: readonly ModelRequest[], context: ExecuteContext): Execution;
  /** After the last request. */
  unload?(): void | Promise<void>;
  /** Completes the config before the model is loaded, in a thread that ends then. It is given a copy, which it may change and return. */
  autoCompleteConfig?(config: Record<string, unknown>): ModelConfigDocument | Promise<ModelConfigDocument>;
}

/** Gives its argument back, with the types of a model. */
export const defineModel = (model: Model): Model => model;

/** An error for the caller of a request: its message and code reach the client as they are. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode = 'INTERNAL', options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type OneRequest = (request: ModelRequest, context: ExecuteContext) => ModelResponse | Promise<ModelResponse>;

type Settled = ModelResponse | ModelError | undefined;

/** What was thrown may be anything, and have no text. */
const messageOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'an error that cannot be shown';
  }
};

const errorOf = (error: unknown): ModelError =>
  error instanceof ModelError ? error : new ModelError(messageOf(error), 'INTERNAL', { cause: error });

const isSettled = (answer: Settled | Promise<Settled>): answer is Settled =>
  typeof answer !== 'object' || answer === null || !('then' in answer);

/** An `execute` that handles each request alone, those of a batch at once where `handle` is async: what it throws fails that request, not the batch. */
export const perRequest =
  (handle: OneRequest) =>
  (requests: readonly ModelRequest[], context: ExecuteContext): ModelResponses | Promise<ModelResponses> => {
    const answers = requests.map((request): Settled | Promise<Settled> => {
      try {
        const answer = handle(request, context);
        return isSettled(answer) ? answer : answer.then((response) => response, errorOf);
      } catch (error) {
        return errorOf(error);
      }
    });
    const settled = answers.filter(isSettled);
    return settled.length === answers.length ? settled : Promise.all(answers);
  };
