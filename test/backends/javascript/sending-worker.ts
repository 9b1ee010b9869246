import { parentPort, workerData } from 'node:worker_threads';
import { MessageMarks } from '../../../src/backends/javascript/message-marks.ts';

const { shared, count, most }: { readonly shared: SharedArrayBuffer; readonly count: number; readonly most: number } = workerData;
const marks = new MessageMarks(shared);
for (let message = 0; message < count; message++) {
  marks.waitUntilFewer(most);
  marks.sent();
  parentPort?.postMessage(message);
}
