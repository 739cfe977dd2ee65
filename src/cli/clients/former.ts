import { createHash } from 'node:crypto';
import { join, sep } from 'node:path';
import { isRecord, parseJson } from '../../model/record.ts';
import { missingFolders, readConfig, removeEmptyFolder, writeConfig } from './config-file.ts';

/** The record of one configuration file. */
interface Former {
  readonly path: string;
  /** The file's content without anything of ours; null if there was no file. */
  readonly former: string | null;
  /** SHA-256 of what `init` wrote last. */
  readonly wrote: string;
}

/** The content of a file before `init`. */
export interface FormerContent {
  /** The text without anything of ours; undefined if there was no file. */
  readonly text: string | undefined;
  /** SHA-256 of what `init` wrote last. */
  readonly wrote: string;
}

/**
 * The former contents of clients' configuration files and the folders that `init` created. Both are
 * stored in the state folder for `remove`.
 */
export class FormerFiles {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'clients');
  }

  /** Stores what the file holds without us, for `remove`, and the hash of `next`, which is written. */
  keep(path: string, former: string | undefined, next: string): void {
    this.#write(path, { path, former: former ?? null, wrote: contentHash(next) });
    this.#keepFolders([...missingFolders(path), ...this.#folders()]);
  }

  /** The file's content before `init`; undefined if there is no record. */
  of(path: string): FormerContent | undefined {
    const known = this.#read(path);
    if (known === undefined) return undefined;
    return { text: known.former ?? undefined, wrote: known.wrote };
  }

  forget(path: string): void {
    this.#write(path, undefined);
  }

  /**
   * Returns a function that undoes `keep`: it restores the earlier record of `path` and removes the
   * empty folders that `keep` recorded. Call `restorer` before `keep`.
   */
  restorer(path: string): () => void {
    const known = this.#read(path);
    const missing = missingFolders(path);
    return () => {
      this.#write(path, known);
      this.#dropFolders((folder) => missing.includes(folder));
    };
  }

  /** Removes the folders above a deleted file that are empty and that `init` created. */
  dropFolders(path: string): void {
    this.#dropFolders((folder) => path.startsWith(folder + sep));
  }

  #dropFolders(isWanted: (folder: string) => boolean): void {
    const known = this.#folders();
    const gone = known
      .filter(isWanted)
      .sort((a, b) => b.length - a.length)
      .filter(removeEmptyFolder);
    if (gone.length > 0) this.#keepFolders(known.filter((folder) => !gone.includes(folder)));
  }

  /** The folders that `init` created. */
  #folders(): readonly string[] {
    const file = readConfig(this.#foldersFile);
    const value = 'reason' in file || file.text === undefined ? [] : parseJson(file.text);
    return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
  }

  #keepFolders(folders: readonly string[]): void {
    const file = readConfig(this.#foldersFile);
    if ('reason' in file || (folders.length === 0 && file.text === undefined)) return;
    const unique = [...new Set(folders)];
    writeConfig(file, unique.length === 0 ? undefined : `${JSON.stringify(unique)}\n`, 'private');
  }

  get #foldersFile(): string {
    return join(this.#folder, 'folders.json');
  }

  #read(path: string): Former | undefined {
    const file = readConfig(this.#fileOf(path));
    if ('reason' in file || file.text === undefined) return undefined;
    // A damaged record counts as missing: `remove` then removes only our entries.
    const value = parseJson(file.text);
    const isOurs =
      isRecord(value) &&
      value['path'] === path &&
      typeof value['wrote'] === 'string' &&
      (value['former'] === null || typeof value['former'] === 'string');
    // The cast is safe: each field has just been checked.
    return isOurs ? (value as unknown as Former) : undefined;
  }

  #write(path: string, former: Former | undefined): void {
    const file = readConfig(this.#fileOf(path));
    if ('reason' in file || (former === undefined && file.text === undefined)) return;
    writeConfig(file, former === undefined ? undefined : `${JSON.stringify(former)}\n`, 'private');
  }

  #fileOf(path: string): string {
    return join(this.#folder, `${contentHash(path).slice(0, 32)}.json`);
  }
}

export function contentHash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
