/** Runs two measurements by turns, A B B A: neighbours in time make a pair. */
export const inTurn = async <A, B>(rounds: number, a: () => Promise<A>, b: () => Promise<B>): Promise<readonly (readonly [A, B])[]> => {
  const pairs: (readonly [A, B])[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const first = await a();
      pairs.push([first, await b()]);
    } else {
      const first = await b();
      pairs.push([await a(), first]);
    }
  }
  return pairs;
};
