import { Server, ServerCredentials } from '@grpc/grpc-js';
import { echoing, TestDataPlane, variableSpec } from './test/frontends/grpc/support/data-plane.ts';
import { grpcConfig } from './test/frontends/grpc/support/serving.ts';
import { serveGrpc } from './src/frontends/grpc/serve-grpc.ts';
let port: number;
if (process.argv[2] === 'plain') {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.enable_channelz': 0 });
  const pass = { requestSerialize: (b: Buffer) => b, requestDeserialize: (b: Buffer) => b, responseSerialize: (b: Buffer) => b, responseDeserialize: (b: Buffer) => b };
  server.addService({ ModelInfer: { path: '/inference.GRPCInferenceService/ModelInfer', requestStream: false, responseStream: false, ...pass },
    ModelStreamInfer: { path: '/inference.GRPCInferenceService/ModelStreamInfer', requestStream: true, responseStream: true, ...pass } } as any, {
    ModelInfer: (call: any, cb: any) => cb(null, call.request),
    ModelStreamInfer: (call: any) => { call.on('data', (m: Buffer) => call.write(m)); call.on('end', () => call.end()); } } as any);
  port = await new Promise((r) => server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (e, p) => r(p)));
} else {
  const s = await serveGrpc(new TestDataPlane().add(variableSpec('echo'), echoing), grpcConfig());
  port = s.port;
}
process.on('message', () => process.send?.({ ...process.cpuUsage(), rss: process.memoryUsage().rss }));
process.send?.(port);
