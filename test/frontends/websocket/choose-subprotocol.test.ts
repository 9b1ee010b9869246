import { describe, expect, it } from 'vitest';
import { chooseSubprotocol } from '../../../src/frontends/websocket/choose-subprotocol.ts';

describe('chooseSubprotocol', () => {
  it.each([
    [undefined, 'weir.v2.json'],
    ['weir.v2.json', 'weir.v2.json'],
    ['weir.v2.binary', 'weir.v2.binary'],
    ['weir.v2.binary, weir.v2.json', 'weir.v2.binary'],
    ['weir.v2.arrow,weir.v2.binary', 'weir.v2.binary'],
    ['weir.key.x-api-key.c2VjcmV0, weir.v2.json', 'weir.v2.json'],
    ['other,  weir.v2.json', 'weir.v2.json'],
  ])('of %s takes %s', (header, subprotocol) => {
    expect(chooseSubprotocol(header)).toEqual({ subprotocol });
  });

  it('says that Arrow is not built', () => {
    expect(chooseSubprotocol('weir.v2.arrow, other')).toEqual({
      refusal: 'subprotocol weir.v2.arrow is not built in this version, use weir.v2.json or weir.v2.binary',
    });
  });

  it.each(['other', 'weir.v3.json', 'WEIR.V2.JSON', 'weir.key.x-api-key.c2VjcmV0'])('refuses %s alone', (header) => {
    expect(chooseSubprotocol(header)).toEqual({ refusal: 'unknown subprotocol, expecting weir.v2.json or weir.v2.binary' });
  });
});
