import type protobuf from 'protobufjs';
import { healthHandlers, healthServiceHandlers } from './health.ts';
import type { InferService } from './infer-service.ts';
import { healthService, inferenceService } from './messages.ts';
import { modelInfer } from './model-infer.ts';
import { informationHandlers } from './model-information.ts';
import { repositoryHandlers, unsupportedHandlers } from './model-repository.ts';
import { modelStreamInfer } from './model-stream-infer.ts';
import type { StreamMarks } from './stream-marks.ts';
import type { Serve } from './transport/call.ts';
import { serveUnary } from './unary-call.ts';
import { type PlainHandlers, plainMethod } from './unary-method.ts';

const method = (service: protobuf.Service, name: string): protobuf.Method => {
  const found = service.methods[name];
  if (found === undefined) throw new Error(`${service.fullName} has no ${name}`);
  return found;
};

const methodPath = ({ parent, name }: protobuf.Method): string => `/${parent?.fullName.slice(1)}/${name}`;

/** Who answers each call of the two services, by path. */
export const grpcRoutes = (service: InferService, marks: StreamMarks): ReadonlyMap<string, Serve> => {
  const { dataPlane, calls, log } = service;
  const inference: PlainHandlers = {
    ...unsupportedHandlers(inferenceService.methodsArray.map(({ name }) => name)),
    ...healthHandlers(dataPlane),
    ...informationHandlers(dataPlane),
    ...repositoryHandlers(dataPlane),
  };
  const routes = new Map<string, Serve>();
  const addPlain = (of: protobuf.Service, handlers: PlainHandlers): void => {
    for (const [name, handle] of Object.entries(handlers)) {
      const called = method(of, name);
      routes.set(methodPath(called), serveUnary({ method: plainMethod(called, handle), calls, log }));
    }
  };
  addPlain(inferenceService, inference);
  addPlain(healthService, healthServiceHandlers(dataPlane));
  routes.set(methodPath(method(inferenceService, 'ModelInfer')), serveUnary({ method: modelInfer(service), calls, log }));
  routes.set(methodPath(method(inferenceService, 'ModelStreamInfer')), modelStreamInfer(service, marks));
  return routes;
};
