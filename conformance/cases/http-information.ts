import { datatypes } from '../../src/streams/tensors/datatype.ts';
import type { HttpCase } from '../case.ts';

const http = (method: string, path: string, more: Partial<HttpCase> = {}): HttpCase => ({
  kind: 'http',
  name: `${method} ${path}${typeof more.body === 'string' ? ` ${more.body}` : ''}`,
  method,
  path,
  ...more,
});

/** What belongs to the kind of model, not to the server: Python there, identity or ONNX here. */
const ofTheKind = /^body\.(platform|backend|default_model_filename)$/;
const times = /(^body\.version|\.ns|last_inference|_count|\.count)$/;

const models = [
  'add_sub',
  'plain',
  'plain_any',
  'labelled',
  'pair',
  'reshaped',
  'scalar',
  ...datatypes.map((name) => `identity_${name.toLowerCase()}`),
];

/** Health, metadata, config, statistics, index, and the paths and methods that lead nowhere. */
export const httpInformation: readonly HttpCase[] = [
  http('GET', '/v2/health/live'),
  http('GET', '/v2/health/ready'),
  http('POST', '/v2/health/ready'),
  http('GET', '/v2', { varies: /^body\.(version|extensions.*)$/ }),
  http('GET', '/v2/'),
  http('GET', '/'),
  http('GET', '/v2/nothing'),
  http('DELETE', '/v2/models/plain'),
  http('GET', '/v2?verbose=1', { varies: /^body\.(version|extensions.*)$/ }),
  ...models.flatMap((model) => [
    http('GET', `/v2/models/${model}`, { varies: ofTheKind }),
    http('GET', `/v2/models/${model}/config`, { varies: ofTheKind }),
  ]),
  ...[
    '',
    '/versions/1',
    '/versions/3',
    '/versions/2',
    '/versions/0',
    '/versions/99',
    '/versions/abc',
    '/versions/-1',
    '/versions/',
    '/versions/00001',
  ].flatMap((version) => [
    http('GET', `/v2/models/plain${version}`, { varies: ofTheKind }),
    http('GET', `/v2/models/plain${version}/ready`),
    http('GET', `/v2/models/plain${version}/config`, { varies: ofTheKind }),
  ]),
  ...['', '/ready', '/config', '/stats', '/versions/1', '/versions/1/stats'].map((rest) => http('GET', `/v2/models/missing${rest}`)),
  http('GET', '/v2/models/missing/infer'),
  http('POST', '/v2/models/plain/ready'),
  http('POST', '/v2/models/plain/config'),
  http('POST', '/v2/models/plain'),
  http('GET', '/v2/models/plain/infer'),
  http('GET', '/v2/models/plain/unknown'),
  http('GET', '/v2/models/plain/'),
  http('GET', '/v2/models//ready'),
  http('GET', '/v2/models/plain/versions/1/stats', { varies: times }),
  http('GET', '/v2/models/plain/versions/7/stats'),
  http('GET', '/v2/models/plain_any/stats', { varies: times }),
  http('POST', '/v2/models/plain_any/stats'),
  http('POST', '/v2/models/stats'),
  http('POST', '/v2/repository/index', { body: '{"ready":"yes"}' }),
  http('POST', '/v2/repository/index', { body: '{"ready":' }),
  http('GET', '/v2/repository/index'),
  http('POST', '/v2/repository/nothing'),
  http('POST', '/v2/repository/models/plain/load'),
  http('POST', '/v2/repository/models/plain/unload'),
];
