import type { Load } from '../load/load.ts';
import { runLoad } from '../load/run-load.ts';

// Several loads at once in one process: `node bench/soak/loads-main.ts LOADS`, where LOADS are `Load`s as JSON; prints `LoadResult`s as JSON.
const loads: readonly Load[] = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await Promise.all(loads.map(runLoad))));
