import type protobuf from 'protobufjs';
import { from } from 'rxjs';
import { decodeMessage, encodeMessage, type MessageFields } from './messages.ts';
import type { UnaryMethod } from './unary-call.ts';

/** Answers a message that is read and written by its `.proto` file; `fields` are those of the request. */
export type PlainHandler = (fields: MessageFields) => MessageFields | Promise<MessageFields>;

/** The handlers of a service by the names of its calls. */
export type PlainHandlers = Readonly<Record<string, PlainHandler>>;

export const plainMethod = (method: protobuf.Method, handle: PlainHandler): UnaryMethod => {
  const { resolvedRequestType, resolvedResponseType } = method;
  if (resolvedRequestType === null || resolvedResponseType === null) throw new Error(`${method.fullName} has no types`);
  return (message, _metadata, reply) => {
    const answer = handle(decodeMessage(resolvedRequestType, message));
    if (!(answer instanceof Promise)) {
      reply.answer(encodeMessage(resolvedResponseType, answer));
      return undefined;
    }
    return from(answer).subscribe({
      next: (fields) => reply.answer(encodeMessage(resolvedResponseType, fields)),
      error: (error) => reply.fail(error),
    });
  };
};

/** A field that is a string in its `.proto` file. */
export const stringOf = (fields: MessageFields, name: string): string => String(fields[name]);
