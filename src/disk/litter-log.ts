import { closeSync, constants, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from '../model/errno.ts';
import type { Durability } from '../model/policy.ts';
import { unlinkIfThere } from './unlink-if-there.ts';

/** Every temporary name of ours begins like this, followed by its owner. */
export const TEMP_PREFIX = '.lookfirst-';

/** One line of a litter log: a folder this process makes temporary names in, or a name it has claimed there. */
export type LitterLine =
  | { readonly dir: string }
  | { readonly dir: string; readonly claim: string; readonly name: string };

interface Claiming {
  readonly claim: string;
  readonly name: string;
  /** In a batch nothing is synced: after a power cut its announced change brings the file back. */
  readonly durability: Durability;
}

/**
 * Says where a process may leave temporary names behind if it is killed: one file per process in our state folder,
 * a line for each workspace folder it writes to. A later start reads the logs of dead processes.
 */
export class LitterLog {
  readonly #path: string;
  readonly #owner: string;
  readonly #durability: Durability;
  readonly #dirs = new Set<string>();
  #fd: number | undefined;
  #count = 0;
  #doubtful = false;

  constructor(home: string, owner: string, durability: Durability) {
    const folder = logFolder(home);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#owner = owner;
    this.#durability = durability;
    this.#path = join(folder, `${owner}.log`);
  }

  /** A fresh name beside a target. Recorded before it exists, so that it is never forgotten. */
  tempName(dir: string): string {
    if (!this.#dirs.has(dir)) {
      this.#append({ dir });
      this.#dirs.add(dir);
    }
    this.#count += 1;
    return `${TEMP_PREFIX}${this.#owner}-${this.#count.toString(36)}`;
  }

  /** Records that temporary names will be made in these folders: one sync for all of them. */
  expect(dirs: readonly string[]): void {
    const added = [...new Set(dirs)].filter((dir) => !this.#dirs.has(dir));
    for (const [index, dir] of added.entries()) {
      this.#append({ dir }, index === added.length - 1 ? this.#durability : 'none');
      this.#dirs.add(dir);
    }
  }

  /** Records that `name` in `dir` is about to be away under `claim` for a moment. */
  claiming(dir: string, { claim, name, durability }: Claiming): void {
    this.#append({ dir, claim, name }, durability);
  }

  /** Something failed on the way, and a temporary name may still be there: the log stays for a later start. */
  doubt(): void {
    this.#doubtful = true;
  }

  /** Nothing was left behind, as far as we know: everything this process made is published or gone. */
  close(): void {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    if (!this.#doubtful) unlinkIfThere(this.#path);
  }

  #append(line: LitterLine, durability: Durability = this.#durability): void {
    this.#fd ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
    // On a line of its own, whatever a full disk has made of the one before.
    const text = Buffer.from(`\n${JSON.stringify(line)}\n`);
    for (let done = 0; done < text.byteLength; ) done += writeSync(this.#fd, text, done);
    // So that it holds across a power cut as well: once per folder, and for every claim.
    if (durability !== 'none') fsyncSync(this.#fd);
  }
}

export function logFolder(home: string): string {
  return join(home, 'writers');
}

/** The lines of a log; none if another start was faster and has removed it. */
export function readLitter(path: string): LitterLine[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    try {
      // Written above; a torn line belongs to a name that was never made.
      return line === '' ? [] : [JSON.parse(line) as LitterLine];
    } catch {
      return [];
    }
  });
}
