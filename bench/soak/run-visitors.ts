import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from './target.ts';
import type { Visitor } from './visitor.ts';
import { grpcVisitors } from './visitors/grpc-visitors.ts';
import { httpVisitors } from './visitors/http-visitors.ts';
import { webSocketVisitors } from './visitors/websocket-visitors.ts';

export interface VisitorsRun {
  readonly target: Target;
  readonly durationMs: number;
}

export interface VisitorCount {
  readonly name: string;
  readonly visits: number;
  readonly failed: number;
  /** The first one. */
  readonly fault: string;
}

/** Between two visits of one kind. */
const pauseMs = 20;
/** Longer than anything should take on a busy machine. */
const patienceMs = 60_000;

const visitOnce = async (visitor: Visitor, target: Target): Promise<string> => {
  const patience = new AbortController();
  const late = sleep(patienceMs, 'no answer', patience);
  try {
    return await Promise.race([visitor.visit(target).then(() => ''), late]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    late.catch(() => {});
    patience.abort();
  }
};

const visitAgain = async (visitor: Visitor, target: Target, untilMs: number): Promise<VisitorCount> => {
  let [visits, failed, fault] = [0, 0, ''];
  while (performance.now() < untilMs) {
    const wrong = await visitOnce(visitor, target);
    visits++;
    if (wrong !== '') failed++;
    if (fault === '') fault = wrong;
    await sleep(pauseMs);
  }
  return { name: visitor.name, visits, failed, fault };
};

/** Every visitor again and again, all kinds beside each other. */
export const runVisitors = ({ target, durationMs }: VisitorsRun): Promise<readonly VisitorCount[]> => {
  const untilMs = performance.now() + durationMs;
  const visitors = [...grpcVisitors, ...httpVisitors, ...webSocketVisitors];
  return Promise.all(visitors.map((visitor) => visitAgain(visitor, target, untilMs)));
};
