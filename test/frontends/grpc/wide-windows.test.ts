import { once } from 'node:events';
import { connect, type Settings } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { callWindowBytes, connectionWindowBytes, frameBytes } from '../../../src/frontends/grpc/transport/connection.ts';
import { TestDataPlane } from './support/data-plane.ts';
import { serve } from './support/serving.ts';

describe('WideWindows', () => {
  it('widens what a client may send ahead, with its first call', async () => {
    const serving = await serve(new TestDataPlane());
    const session = connect(`http://127.0.0.1:${serving.server.port}`);
    const widened = new Promise<Settings>((resolve) => {
      session.on('remoteSettings', (settings) => {
        if (settings.initialWindowSize === callWindowBytes) resolve(settings);
      });
    });
    const call = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ServerLive',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.resume();
    call.end(Buffer.alloc(5));
    await Promise.all([once(call, 'end'), widened]);
    expect((await widened).maxFrameSize).toBe(frameBytes);
    expect(session.state.remoteWindowSize).toBeGreaterThan(connectionWindowBytes - 1024);
    session.close();
    await serving.stop();
  });
});
