import { describe, expect, it } from 'vitest';
import { Metadata } from '../../../../src/frontends/grpc/transport/metadata.ts';

const entries = (...headers: string[]) => [...new Metadata(headers).entries()];

describe('Metadata', () => {
  it('leaves out what belongs to HTTP and to the transport', () => {
    const all = entries(
      ...[
        ':method',
        'POST',
        ':scheme',
        'http',
        ':path',
        '/a/b',
        ':authority',
        'here',
        'te',
        'trailers',
        'content-type',
        'application/grpc',
      ],
      ...['x-first', '1', 'grpc-timeout', '1S', 'grpc-encoding', 'gzip', 'grpc-accept-encoding', 'gzip', 'accept-encoding', 'gzip'],
      ...['user-agent', 'mine', 'grpc-trace', 'kept', 'te-x', 'kept'],
    );
    expect(all).toEqual([
      ['x-first', '1'],
      ['user-agent', 'mine'],
      ['grpc-trace', 'kept'],
      ['te-x', 'kept'],
    ]);
  });

  it('has each value of a key, in order, and does not take one apart', () => {
    expect(entries('a', '1', 'b', '', 'a', '2, 3', 'a', '1')).toEqual([
      ['a', '1'],
      ['b', ''],
      ['a', '2, 3'],
      ['a', '1'],
    ]);
  });

  it('reads binary values, with or without padding, several of them in one header', () => {
    const base64 = Buffer.from('ü').toString('base64');
    expect(entries('a-bin', base64, 'b-bin', 'YQ,Yg==,Y2Nj', 'a-bin', '', 'binary', 'YQ==')).toEqual([
      ['a-bin', 'ü'],
      ['b-bin', 'a'],
      ['b-bin', 'b'],
      ['b-bin', 'ccc'],
      ['a-bin', ''],
      ['binary', 'YQ=='],
    ]);
  });

  it('can be read again', () => {
    const metadata = new Metadata(['a', '1']);
    expect([...metadata.entries()]).toEqual([...metadata.entries()]);
  });

  it('has a header only by its whole name and value', () => {
    const metadata = new Metadata(['x', 'a', 'true', 'x', 'y', 'true', 'x', 'b']);
    expect([metadata.has('y', 'true'), metadata.has('x', 'a'), metadata.has('x', 'b')]).toEqual([true, true, true]);
    for (const [name, value] of [
      ['x', 'true'],
      ['x', 'B'],
      ['a', 'true'],
      ['y', 'tru'],
      ['z', 'a'],
    ] as const) {
      expect([name, value, metadata.has(name, value)]).toEqual([name, value, false]);
    }
    expect(new Metadata([]).has('x', 'a')).toBe(false);
  });
});
