import { type handleBidiStreamingCall, type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js';

const same = (bytes: Buffer): Buffer => bytes;

const method = (name: string, isStream: boolean) => ({
  path: `/inference.GRPCInferenceService/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});

const echoCall: handleUnaryCall<Buffer, Buffer> = (call, callback) => callback(null, call.request);

const echoStream: handleBidiStreamingCall<Buffer, Buffer> = (call) => {
  call.on('data', (message: Buffer) => call.write(message));
  call.on('end', () => call.end());
  call.on('error', () => {});
};

/** grpc-js with nothing behind it: each message goes back as it came. Answers the port. */
export const serveGrpcEcho = async (): Promise<number> => {
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1, 'grpc.enable_channelz': 0 });
  server.addService(
    { ModelInfer: method('ModelInfer', false), ModelStreamInfer: method('ModelStreamInfer', true) },
    { ModelInfer: echoCall, ModelStreamInfer: echoStream },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error === null ? resolve(port) : reject(error)));
  });
};
