import { readdirSync, readFileSync } from 'node:fs';

// `node --expose-gc bench/cycles/child.ts COUNT`: the cycles of the tests, which print what they leave as JSON, and then the names of the threads that are left.
await import('../../test/server/cycles.ts');
const threads = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim());
console.log(JSON.stringify(threads));
