import { runVisitors } from './run-visitors.ts';

// `node bench/soak/visitors-main.ts RUN`, where RUN is a `VisitorsRun` as JSON; prints `VisitorCount`s as JSON.
console.log(JSON.stringify(await runVisitors(JSON.parse(process.argv[2] ?? ''))));
