import type { Draft, ServerSettings } from '../../server/settings.ts';
import { built, type Flag, noEffect } from '../flag.ts';
import { readBoolean, readInteger, readPort, splitOnce } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'Metrics';

const applyMetricsConfig = (value: string, settings: Draft<ServerSettings>): void => {
  const [setting, of] = splitOnce(value, '=') ?? ['', ''];
  if (setting === '') throw new UsageError(`--metrics-config option format is <setting>=<value>. Got ${value}`);
  if (setting === 'counter_latencies') {
    settings.metrics.counterLatencies = readBoolean(of);
    return;
  }
  if (setting === 'histogram_latencies' || setting === 'summary_latencies') {
    if (readBoolean(of)) throw new UsageError(`${setting} is not built yet in Weir; accepted: ${setting}=false`);
    return;
  }
  if (setting === 'summary_quantiles') throw new UsageError('summary_quantiles is not built yet in Weir');
  throw new UsageError(`unknown metrics setting '${setting}'; there is counter_latencies`);
};

export const metricsFlags: readonly Flag[] = [
  built({
    name: 'allow-metrics',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'Serve metrics in the Prometheus format.',
    apply: (value, settings) => {
      settings.metrics.allow = readBoolean(value);
    },
  }),
  noEffect({
    name: 'allow-gpu-metrics',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'Metrics of GPUs.',
    reason: 'Weir has no metrics of GPUs yet',
    apply: (value) => {
      readBoolean(value);
    },
  }),
  built({
    name: 'allow-cpu-metrics',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'Metrics of processor and memory, on Linux.',
    apply: (value, settings) => {
      settings.metrics.allowCpu = readBoolean(value);
    },
  }),
  built({
    name: 'metrics-address',
    group,
    argument: 'string',
    default: '',
    description: 'Address that metrics listen at; --http-address unless given.',
    apply: (value, settings) => {
      settings.metrics.address = value;
    },
  }),
  built({
    name: 'metrics-port',
    group,
    argument: 'integer',
    default: '8002',
    description: 'Port that metrics listen at; 0 for any free one.',
    apply: (value, settings) => {
      settings.metrics.port = readPort(value);
    },
  }),
  built({
    name: 'metrics-interval-ms',
    group,
    argument: 'integer',
    default: '2000',
    description: 'Milliseconds for which the metrics of processor and memory stand before they are read again.',
    apply: (value, settings) => {
      settings.metrics.intervalMs = readInteger(value, { min: 1, max: 2 ** 31 - 1 });
    },
  }),
  built({
    name: 'metrics-config',
    group,
    argument: '<string>=<string>',
    default: 'counter_latencies=true',
    repeatable: true,
    description: 'A metrics setting: counter_latencies, true or false.',
    apply: applyMetricsConfig,
  }),
];
