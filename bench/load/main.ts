import { runLoad } from './run-load.ts';

// One load in a process of its own: `node bench/load/main.ts LOAD`, where LOAD is a `Load` as JSON; prints a `LoadResult` as JSON.
console.log(JSON.stringify(await runLoad(JSON.parse(process.argv[2] ?? ''))));
