import { expect, it } from 'vitest';
import { isAllowedOrigin } from '../../../src/frontends/websocket/is-allowed-origin.ts';

it.each([
  ['no browser', undefined, 'a:8000', []],
  ['its own host', 'http://a:8000', 'a:8000', []],
  ['its own host behind TLS', 'https://a', 'a', []],
  ['a default port that is written', 'https://a', 'a:443', []],
  ['an IPv6 host', 'http://[::1]:8000', '[::1]:8000', []],
  ['upper case in Host', 'http://a.example', 'A.example', []],
  ['the list', 'https://b.example', 'a:8000', ['https://b.example']],
  ['a list of all', 'https://b.example', 'a:8000', ['*']],
  ['a sandboxed page on the list', 'null', 'a:8000', ['null']],
])('lets in %s', (_case, origin, host, allowed) => {
  expect(isAllowedOrigin(origin, host, allowed)).toBe(true);
});

it.each([
  ['another host', 'http://b:8000', 'a:8000', []],
  ['another port', 'http://a:8001', 'a:8000', []],
  ['a sandboxed page', 'null', 'a:8000', []],
  ['a file', 'file://', 'a:8000', []],
  ['a longer name', 'http://a.evil', 'a', ['http://a']],
  ['another scheme than on the list', 'http://b', 'a', ['https://b']],
  ['a client without Host', 'http://a', undefined, []],
])('keeps out %s', (_case, origin, host, allowed) => {
  expect(isAllowedOrigin(origin, host, allowed)).toBe(false);
});
