import { identityBackend } from '../backends/identity/identity-backend.ts';
import { onnxruntimeBackend } from '../backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../backends/workers/workers-stopped.ts';
import { createRepository } from '../repository/repository.ts';
import type { DataPlane } from '../streams/inference/data-plane.ts';
import { toInferError } from '../streams/inference/error.ts';
import { createStatistics } from '../telemetry/statistics.ts';
import type { ServerLog } from '../telemetry/log.ts';
