export type Subprotocol = 'weir.v2.json' | 'weir.v2.binary';

const served: readonly Subprotocol[] = ['weir.v2.json', 'weir.v2.binary'];

export type SubprotocolChoice = { readonly subprotocol: Subprotocol } | { readonly refusal: string };

/**
 * The first that the client offers and the server speaks; JSON when it offers none. What it offers for another purpose, such as
 * `weir.key.…`, is passed over and never echoed.
 */
export const chooseSubprotocol = (header: string | undefined): SubprotocolChoice => {
  const offered = (header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (offered.length === 0) return { subprotocol: 'weir.v2.json' };
  for (const offer of offered) {
    const subprotocol = served.find((name) => name === offer);
    if (subprotocol !== undefined) return { subprotocol };
  }
  const known = served.join(' or ');
  if (offered.includes('weir.v2.arrow')) return { refusal: `subprotocol weir.v2.arrow is not built in this version, use ${known}` };
  return { refusal: `unknown subprotocol, expecting ${known}` };
};
