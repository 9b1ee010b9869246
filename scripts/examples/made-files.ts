import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * What a build makes in a folder that others use, too. The paths stand in a record there, each from before it is made, so that the next build begins by
 * removing what the last one made, also if that one was broken off. What is not in the record stays, and so do folders that hold something of it.
 */
export class MadeFiles {
  readonly #root: string;
  readonly #record: string;

  /** Removes what earlier builds have made. Paths are relative to `root`, with slashes. */
  constructor(root: string, record: string) {
    this.#root = root;
    this.#record = join(root, record);
    const left = this.#removeOld();
    mkdirSync(dirname(this.#record), { recursive: true });
    writeFileSync(this.#record, left.map((path) => `${path}\n`).join(''));
  }

  write(path: string, content: string | Uint8Array): void {
    this.#note(path);
    writeFileSync(join(this.#root, path), content);
  }

  makeFolder(path: string): void {
    this.#note(`${path}/`);
  }

  /** Copies a folder with all that is in it. */
  copy(from: string, path: string): void {
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const [source, target] = [join(from, entry.name), `${path}/${entry.name}`];
      if (entry.isDirectory()) {
        this.copy(source, target);
        continue;
      }
      this.#note(target);
      cpSync(source, join(this.#root, target));
    }
  }

  /** Makes the folders above it, and leaves the record knowing of it and of them. */
  #note(path: string): void {
    const above = path.split('/').slice(0, -1);
    const folders = above.map((_, index) => above.slice(0, index + 1).join('/')).filter((folder) => !existsSync(join(this.#root, folder)));
    appendFileSync(
      this.#record,
      [...folders.map((folder) => `${folder}/`), ...(path.endsWith('/') ? [] : [path])].map((line) => `${line}\n`).join(''),
    );
    mkdirSync(join(this.#root, ...above), { recursive: true });
  }

  /** Returns the folders that are left, since something of others is in them. */
  #removeOld(): readonly string[] {
    if (!existsSync(this.#record)) return [];
    const made = [...new Set(readFileSync(this.#record, 'utf8').split('\n'))].filter((path) => path !== '');
    for (const path of made) if (!path.endsWith('/')) rmSync(join(this.#root, path), { force: true });
    const deepestFirst = made.filter((path) => path.endsWith('/')).toSorted((a, b) => b.split('/').length - a.split('/').length);
    return deepestFirst.filter((path) => {
      const folder = join(this.#root, path);
      if (!existsSync(folder)) return false;
      if (readdirSync(folder).length > 0) return true;
      rmdirSync(folder);
      return false;
    });
  }
}
