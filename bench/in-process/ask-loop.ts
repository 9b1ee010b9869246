import type { Observer } from 'rxjs';
import type { ServedModel } from '../../src/streams/inference/data-plane.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { treeCpuMs } from '../measure/cpu-time.ts';

export interface AskLoop {
  readonly model: ServedModel;
  readonly request: InferRequest;
  readonly inFlight: number;
  readonly measureMs: number;
  /** Throws for a wrong answer; called for one in 64. */
  readonly check: (response: InferResponse) => void;
}

/** Microseconds for each request: of the clock, and of the processor in this process, its threads and the processes that it has started. */
export interface AskResult {
  readonly wallUs: number;
  readonly cpuUs: number;
}

const sampling = 64;

/** Keeps so many requests in flight for a while. Rejects when one fails. */
export const askLoop = async ({ model, request, inFlight, measureMs, check }: AskLoop): Promise<AskResult> => {
  const [beganMs, beganCpuMs] = [performance.now(), treeCpuMs(process.pid)];
  let answered = 0;
  let open = inFlight;
  await new Promise<void>((resolve, reject) => {
    const observer: Observer<InferResponse> = {
      next: (response) => {
        if (answered % sampling === 0) check(response);
      },
      error: reject,
      complete: () => {
        answered++;
        if (answered % sampling !== 0 || performance.now() - beganMs < measureMs) ask();
        else if (--open === 0) resolve();
      },
    };
    const ask = (): void => {
      model.infer(request).subscribe(observer);
    };
    for (let caller = 0; caller < inFlight; caller++) ask();
  });
  return {
    wallUs: ((performance.now() - beganMs) * 1000) / answered,
    cpuUs: ((treeCpuMs(process.pid) - beganCpuMs) * 1000) / answered,
  };
};
