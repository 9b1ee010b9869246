/**
 * Whether a page of `origin` may connect: browsers send cookies and reach private networks for any page, so only pages of the server's own
 * host and of the allow list may. A client that is no browser sends no Origin. `*` in the list allows every page.
 */
export const isAllowedOrigin = (origin: string | undefined, host: string | undefined, allowed: readonly string[]): boolean => {
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return true;
  if (host === undefined || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  // Read with the page's scheme, so that a default port counts the same whether it is written or not.
  const own = `${page.protocol}//${host}`;
  return page.host !== '' && URL.canParse(own) && new URL(own).host === page.host;
};
