import { useEngineFlags } from '../../src/cli/engine-flags.ts';
import { type AskResult, askLoop } from '../in-process/ask-loop.ts';
import { checkFloats, floatsRequest } from '../in-process/floats.ts';
import { openServer } from '../in-process/open-server.ts';
import { inTurn } from '../measure/in-turn.ts';
import { BarePython } from './bare-python.ts';
import { python, pythonFloats } from './repository.ts';

export interface PythonRun {
  readonly repository: string;
  readonly size: keyof typeof pythonFloats;
  readonly rounds: number;
  readonly measureMs: number;
  readonly inFlight: number;
}

/** Of a Python model, and of a bare process. */
export type PythonPair = readonly [model: AskResult, bare: AskResult];

useEngineFlags();
// `node bench/backends/python-main.ts RUN`, where RUN is a `PythonRun` as JSON; prints pairs as JSON.
const { repository, size, rounds, measureMs, inFlight }: PythonRun = JSON.parse(process.argv[2] ?? '');
const floats = pythonFloats[size];
const tensor = Buffer.from(Float32Array.from({ length: floats }, (_, index) => index).buffer);
const { dataPlane, close } = await openServer(repository);
const model = dataPlane.model(size, '');
const request = floatsRequest(model.spec, floats);
const bare = new BarePython(python, tensor.length, inFlight);
const askModel = (forMs = measureMs): Promise<AskResult> =>
  askLoop({ model, request, inFlight, measureMs: forMs, check: (response) => checkFloats(response, floats) });
const askBare = (forMs = measureMs): Promise<AskResult> => bare.run(tensor, forMs);
await askModel(1_000);
await askBare(1_000);
const pairs: readonly PythonPair[] = await inTurn(
  rounds,
  () => askModel(),
  () => askBare(),
);
await Promise.all([close(), bare.stop()]);
console.log(JSON.stringify(pairs));
