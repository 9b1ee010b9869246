import type { ResponseMade } from '../../streams/inference/events.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Call } from '../call.ts';
import type { ExecutionReport, ReportConfig } from './execution-report.ts';

const outcomeOf = ({ error, outputs }: InferResponse): ResponseMade['outcome'] => {
  if (error !== undefined) return 'fail';
  return outputs.size === 0 ? 'empty' : 'success';
};

/** What statistics are told of each answer in one execution of a decoupled model. */
export class ResponseReport {
  readonly #config: ReportConfig;
  readonly #calls: readonly Call[];
  readonly #execution: ExecutionReport;
  /** When the last answer to each call was out. */
  readonly #outMs: number[] = [];

  constructor(config: ReportConfig, calls: readonly Call[], execution: ExecutionReport) {
    this.#config = config;
    this.#calls = calls;
    this.#execution = execution;
  }

  /** Hands the caller an answer that the model gives now. The caller may hang up at it. */
  give(call: Call, response: InferResponse): void {
    const index = call.answers++;
    const of = this.#calls.indexOf(call);
    const givenMs = this.#config.scheduler.now();
    if (response.isLast) call.answerLast(response);
    else call.answer(response);
    const outMs = this.#config.scheduler.now();
    this.#tell(of, index, outcomeOf(response), givenMs, outMs);
    this.#outMs[of] = outMs;
  }

  /** In place of its next answer: `empty` is the end alone. */
  end(call: Call, outcome: 'empty' | 'fail' | 'cancel'): void {
    const nowMs = this.#config.scheduler.now();
    this.#tell(this.#calls.indexOf(call), call.answers, outcome, nowMs, nowMs);
  }

  #tell(of: number, index: number, outcome: ResponseMade['outcome'], givenMs: number, outMs: number): void {
    const { spec, sink } = this.#config;
    sink({
      kind: 'response-made',
      model: spec.name,
      version: spec.version,
      index,
      outcome,
      computeInferMs: Math.max(0, givenMs - (this.#outMs[of] ?? this.#execution.inputEndMs)),
      computeOutputMs: outMs - givenMs,
    });
  }
}
