import { closeSync } from 'node:fs';
import { at, type Place } from '../model/path.ts';
import { openRegular, type Unreadable } from './read.ts';

const FIRST_FD = 3;

/**
 * Files held open to be searched: what ripgrep reads is what was opened here, whatever their names come to mean.
 * `handles`: it is given the descriptors; `paths`: where the system cannot do that, the names.
 */
export class OpenedFiles {
  readonly #how: 'handles' | 'paths';
  readonly #descriptors: number[] = [];
  readonly #shown = new Map<string, string>();

  constructor(how: 'handles' | 'paths') {
    this.#how = how;
  }

  /** Opens one more file; `shown` is what it is called in the answer. */
  open(place: Place, shown: string): Unreadable | undefined {
    const opened = openRegular(place);
    if ('problem' in opened) return opened;
    const argument =
      this.#how === 'handles' ? `/proc/self/fd/${FIRST_FD + this.#descriptors.length}` : at(place);
    this.#descriptors.push(opened.fd);
    this.#shown.set(argument, shown);
    return undefined;
  }

  /** What ripgrep is asked to search, in the order of opening. */
  get arguments(): readonly string[] {
    return [...this.#shown.keys()];
  }

  get descriptors(): readonly number[] {
    return this.#how === 'handles' ? this.#descriptors : [];
  }

  /** What to call the file that ripgrep calls by its argument. */
  shown(argument: string): string | undefined {
    return this.#shown.get(argument);
  }

  close(): void {
    for (const fd of this.#descriptors.splice(0)) closeSync(fd);
  }
}
