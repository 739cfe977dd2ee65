import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isRecord } from '../../model/record.ts';
import { readConfig, writeConfig } from './config-file.ts';

/** The content of a configuration file before its first `init`, and the hash of what `init` wrote. */
interface Former {
  readonly path: string;
  /** Null: there was no file. */
  readonly former: string | null;
  /** SHA-256 of what `init` wrote last. */
  readonly wrote: string;
}

/** The former contents of clients' configuration files, kept in the state folder for `remove`. */
export class FormerFiles {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'clients');
  }

  /** Keeps the file's present content, unless `init` wrote it; then the content kept earlier stays. */
  keep(path: string, now: string | undefined, next: string): void {
    const known = this.#read(path);
    const former = known !== undefined && known.wrote === hashOf(now) ? known.former : (now ?? null);
    this.#write(path, { path, former, wrote: hashOf(next) });
  }

  /** The content before `init`, if the file is unchanged since `init` wrote it; otherwise undefined. */
  of(path: string, now: string | undefined): { readonly text: string | undefined } | undefined {
    const known = this.#read(path);
    if (known === undefined || now === undefined || known.wrote !== hashOf(now)) return undefined;
    return { text: known.former ?? undefined };
  }

  forget(path: string): void {
    this.#write(path, undefined);
  }

  #read(path: string): Former | undefined {
    const file = readConfig(this.#fileOf(path));
    if ('reason' in file || file.text === undefined) return undefined;
    const value = parsed(file.text);
    const isOurs =
      isRecord(value) &&
      value['path'] === path &&
      typeof value['wrote'] === 'string' &&
      (value['former'] === null || typeof value['former'] === 'string');
    // Each field has just been checked.
    return isOurs ? (value as unknown as Former) : undefined;
  }

  #write(path: string, former: Former | undefined): void {
    const file = readConfig(this.#fileOf(path));
    if ('reason' in file || (former === undefined && file.text === undefined)) return;
    writeConfig(file, former === undefined ? undefined : `${JSON.stringify(former)}\n`, 'private');
  }

  #fileOf(path: string): string {
    return join(this.#folder, `${hashOf(path).slice(0, 32)}.json`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A damaged record counts as missing: `remove` then removes only our entries.
    return undefined;
  }
}

function hashOf(text: string | undefined): string {
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex');
}
