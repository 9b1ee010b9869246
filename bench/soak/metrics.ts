import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Sample {
  readonly name: string;
  /** As the scrape has them, without the brackets. */
  readonly labels: string;
  readonly value: number;
}

/** A scrape over a connection of its own. */
export const scrape = async (port: number): Promise<readonly Sample[]> => {
  const [answer]: IncomingMessage[] = await once(get({ host: '127.0.0.1', port, path: '/metrics', agent: false }), 'response');
  if (answer?.statusCode !== 200) throw new Error(`/metrics answered ${answer?.statusCode}`);
  const lines = (await text(answer)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [, name = '', labels = '', value = ''] = /^([^{ ]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    return { name, labels, value: Number(value) };
  });
};

const atRest = new Set([
  'nv_inference_pending_request_count',
  'weir_model_queue_length',
  'weir_websocket_connections',
  'weir_websocket_requests_in_flight',
  'weir_websocket_outbox_bytes',
]);

const describe = ({ name, labels, value }: Sample): string => `${name}{${labels}} is ${value}`;

/** Gauges that a server without clients should have at 0 and has not. */
export const busyGauges = (samples: readonly Sample[]): readonly string[] =>
  samples
    .filter(({ name, labels }) => atRest.has(name) || (name === 'weir_model_instances' && labels.includes('state="busy"')))
    .filter(({ value }) => value !== 0)
    .map(describe);

const failures = (samples: readonly Sample[]): readonly Sample[] =>
  samples.filter(({ name, value }) => name === 'nv_inference_request_failure' && value > 0);

/** Failures that no client asked for: all but cancellations. */
export const unwantedFailures = (samples: readonly Sample[]): readonly string[] =>
  failures(samples)
    .filter(({ labels }) => !labels.includes('reason="CANCELED"'))
    .map(describe);

export const cancellations = (samples: readonly Sample[]): number =>
  failures(samples)
    .filter(({ labels }) => labels.includes('reason="CANCELED"'))
    .reduce((sum, { value }) => sum + value, 0);
