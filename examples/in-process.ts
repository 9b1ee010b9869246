import { join } from 'node:path';
// In a program of your own: from 'weir'.
import { Server } from '../src/index.ts';

const server = await Server.start({ modelRepository: join(import.meta.dirname, 'models') });

// A promise of one answer.
const simple = server.model('simple');
const sum = await simple.inferOnce({
  inputs: {
    INPUT0: { shape: [1, 16], values: Int32Array.from({ length: 16 }, (_, index) => index) },
    INPUT1: { shape: [1, 16], values: new Array(16).fill(1) },
  },
});
console.log('sum       ', sum.values('OUTPUT0').join(' '));
console.log('difference', sum.values('OUTPUT1').join(' '));

// An Observable; what is asked at the same time shares batches.
const question = (seed: number) => ({
  inputs: {
    INPUT0: { shape: [1, 16], values: new Int32Array(16).fill(seed) },
    INPUT1: { shape: [1, 16], values: new Int32Array(16).fill(1) },
  },
});
const answered = Array.from(
  { length: 100 },
  (_, seed) =>
    new Promise<void>((resolve, reject) => {
      simple.infer(question(seed)).subscribe({ error: reject, complete: resolve });
    }),
);
await Promise.all(answered);

const [statistics] = await simple.statistics();
console.log(`${statistics?.inference_count} inferences in ${statistics?.execution_count} executions`);
await server.close();
