import { type Difference, differences } from './compare.ts';
import { type Kept, kept } from './kept.ts';

export interface Verdict {
  readonly unexpected: readonly Difference[];
  /** Those that the table keeps. */
  readonly onPurpose: readonly Difference[];
}

const allows = ({ path, adds }: Kept, difference: Difference): boolean => {
  if (!path.test(difference.path)) return false;
  return adds === undefined || (typeof difference.weir === 'string' && difference.weir.replace(adds, '') === difference.triton);
};

/** Which entries of the table were needed, and how many cases came out how. */
export class Tally {
  readonly #needed = new Set<number>();
  readonly #verbose: boolean;
  #same = 0;
  #kept = 0;
  #differing = 0;

  constructor(verbose: boolean) {
    this.#verbose = verbose;
  }

  judge(name: string, triton: unknown, weir: unknown, varies: RegExp | undefined): Verdict {
    const onPurpose: Difference[] = [];
    const unexpected = differences(triton, weir, varies).filter((difference) => {
      const entry = kept.findIndex((one) => one.cases.test(name) && allows(one, difference));
      if (entry < 0) return true;
      this.#needed.add(entry);
      onPurpose.push(difference);
      return false;
    });
    return { unexpected, onPurpose };
  }

  /** Counts a case, and prints what is not as it should be. */
  add(name: string, { unexpected, onPurpose }: Verdict): void {
    if (unexpected.length > 0) {
      this.#differing++;
      print(name, unexpected);
    } else if (onPurpose.length > 0) {
      this.#kept++;
      if (this.#verbose) print(`${name} (kept)`, onPurpose);
    } else {
      this.#same++;
    }
  }

  get isClean(): boolean {
    return this.#differing === 0;
  }

  /** Rows of the table that nothing needed. */
  idle(): readonly string[] {
    return kept.filter((_, entry) => !this.#needed.has(entry)).map(({ cases, path }) => `${cases} ${path}`);
  }

  summary(): string {
    const total = this.#same + this.#kept + this.#differing;
    return `${total} compared: ${this.#same} the same, ${this.#kept} differ on purpose, ${this.#differing} differ`;
  }
}

const show = (value: unknown): string => (value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value)).slice(0, 600));

const print = (name: string, found: readonly Difference[]): void => {
  console.log(`\n${name}`);
  for (const { path, triton, weir } of found) console.log(`  ${path}\n    triton  ${show(triton)}\n    weir    ${show(weir)}`);
};
