const form = /^(\d{1,8})([HMSmun])$/;

const unitMs = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** Milliseconds that a `grpc-timeout` header gives a call; undefined for a text that is none. */
export const readTimeout = (text: string): number | undefined => {
  const [, amount, unit = ''] = form.exec(text) ?? [];
  const perUnit = unitMs.get(unit);
  return amount === undefined || perUnit === undefined ? undefined : Number(amount) * perUnit;
};
