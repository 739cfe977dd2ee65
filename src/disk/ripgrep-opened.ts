import { closeSync } from 'node:fs';
import { at, type Place } from '../model/path.ts';
import { openRegular, type Unreadable } from './read.ts';

const FIRST_FD = 3;

/**
 * Files held open for a search, so that ripgrep reads exactly these files even if their names
 * change. `handles`: ripgrep gets the descriptors; `paths`: it gets the names, where the system
 * does not support descriptors.
 */
export class OpenedFiles {
  readonly #how: 'handles' | 'paths';
  readonly #descriptors: number[] = [];
  readonly #shown = new Map<string, string>();

  constructor(how: 'handles' | 'paths') {
    this.#how = how;
  }

  /** Opens one more file. `shown` is its name in the results. */
  open(place: Place, shown: string): Unreadable | undefined {
    const opened = openRegular(place);
    if ('problem' in opened) return opened;
    const argument =
      this.#how === 'handles' ? `/proc/self/fd/${FIRST_FD + this.#descriptors.length}` : at(place);
    this.#descriptors.push(opened.fd);
    this.#shown.set(argument, shown);
    return undefined;
  }

  /** The paths to pass to ripgrep, in the order of opening. */
  get arguments(): readonly string[] {
    return [...this.#shown.keys()];
  }

  get descriptors(): readonly number[] {
    return this.#how === 'handles' ? this.#descriptors : [];
  }

  /** The displayed name of the file that ripgrep names by its argument. */
  shown(argument: string): string | undefined {
    return this.#shown.get(argument);
  }

  close(): void {
    for (const fd of this.#descriptors.splice(0)) closeSync(fd);
  }
}
