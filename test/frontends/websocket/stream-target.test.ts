import { expect, it } from 'vitest';
import { streamTarget } from '../../../src/frontends/websocket/stream-target.ts';

it.each([
  ['/v2/stream', { modelName: '', modelVersion: '' }],
  ['/v2/stream?x=/v2', { modelName: '', modelVersion: '' }],
  ['/v2/models/m/stream', { modelName: 'm', modelVersion: '' }],
  ['/v2/models/a%2Fb/stream', { modelName: 'a%2Fb', modelVersion: '' }],
  ['/v2/models/stream/stream', { modelName: 'stream', modelVersion: '' }],
  ['/v2/models/m/versions/12/stream', { modelName: 'm', modelVersion: '12' }],
])('%s is a stream', (url, target) => {
  expect(streamTarget(url)).toEqual(target);
});

it.each([
  '/',
  '/v2',
  '/v2/stream/',
  '/v2/models/stream',
  '/v2/models//stream',
  '/v2/models/a/b/stream',
  '/v2/models/m/versions/x/stream',
  '/v2/models/m/versions//stream',
  '/x/v2/stream',
])('%s is none', (url) => {
  expect(streamTarget(url)).toBeUndefined();
});
