import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Client, credentials } from '@grpc/grpc-js';
import { encode, messageType } from './test/frontends/grpc/support/client.ts';
const t = messageType('inference.ModelInferRequest');
for (const kind of ['plain', 'weir', 'plain', 'weir']) {
  const p = fork('./bench-tmp-server.ts', [kind]);
  const [port] = await once(p, 'message');
  const cpu = async () => { p.send('x'); const [u] = await once(p, 'message'); return u.user + u.system; };
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
  const id = (b: Buffer) => b;
  const out: string[] = [];
  for (const [size, count, conc] of [[64, 20000, 32], [2 ** 20, 600, 8]] as const) {
    const message = encode(t, { model_name: 'echo', id: '12', inputs: [{ name: 'IN', datatype: 'UINT8', shape: [size] }], raw_input_contents: [Buffer.alloc(size)] });
    const one = () => new Promise<void>((res, rej) => client.makeUnaryRequest('/inference.GRPCInferenceService/ModelInfer', id, id, message, (e) => (e ? rej(e) : res())));
    const run = async (n: number) => { let left = n; await Promise.all(Array.from({ length: conc }, async () => { while (left-- > 0) await one(); })); };
    await run(Math.ceil(count / 3)); const a = await cpu(); await run(count); out.push(`unary ${size}: ${((await cpu() - a) / count).toFixed(1)} µs`);
    const stream = async (n: number) => { const s = client.makeBidiStreamRequest('/inference.GRPCInferenceService/ModelStreamInfer', id, id); s.on('error', () => {}); let sent = 0, got = 0;
      const done = new Promise<void>((r) => s.on('data', () => { got++; if (sent < n) { sent++; s.write(message); } else if (got === n) { s.end(); r(); } }));
      while (sent < conc) { sent++; s.write(message); } await done; };
    await stream(Math.ceil(count / 3)); const b = await cpu(); await stream(count); out.push(`stream ${size}: ${((await cpu() - b) / count).toFixed(1)} µs`);
  }
  console.log(kind, out.join('  ')); client.close(); p.kill();
}
