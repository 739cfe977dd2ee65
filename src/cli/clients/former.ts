import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isRecord, parseJson } from '../../model/record.ts';
import { missingFolders, readConfig, removeEmptyFolder, writeConfig } from './config-file.ts';

/** The record of one configuration file. */
interface Former {
  readonly path: string;
  /** The file's content without anything of ours; null if there was no file. */
  readonly former: string | null;
  /** SHA-256 of what `init` wrote last. */
  readonly wrote: string;
  /** The folders that `init` created for the file. */
  readonly folders: readonly string[];
  /** True if `init` wrote hooks into the file, and not only a server. */
  readonly hooks: boolean;
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

  /**
   * Stores what the file holds without us, for `remove`, and the hash of `next`, which is written
   * afterwards. Returns a function that restores the earlier record and removes the folders that were
   * created for the file since.
   */
  keep(path: string, former: string | undefined, next: string): () => void {
    const known = this.#read(path);
    const missing = missingFolders(path);
    const folders = [...missing, ...(known?.folders ?? [])];
    const hooks = HOOKS.test(next);
    this.#write(path, { path, former: former ?? null, wrote: contentHash(next), folders, hooks });
    return () => {
      this.#write(path, known);
      removeFolders(missing);
    };
  }

  /** The file's content before `init`; undefined if there is no record. */
  of(path: string): FormerContent | undefined {
    const known = this.#read(path);
    if (known === undefined) return undefined;
    return { text: known.former ?? undefined, wrote: known.wrote };
  }

  /** Drops the record of a file, and the folders that `init` created for it if they are empty now. */
  forget(path: string): void {
    const { folders = [] } = this.#read(path) ?? {};
    this.#write(path, undefined);
    removeFolders(folders);
  }

  #read(path: string): Former | undefined {
    const file = readConfig(this.#fileOf(path));
    if ('reason' in file || file.text === undefined) return undefined;
    // A damaged record counts as missing: `remove` then removes only our entries.
    const value = parseJson(file.text);
    if (!isRecord(value) || value['path'] !== path) return undefined;
    const { former, wrote, folders = [], hooks } = value;
    if (typeof wrote !== 'string' || !(former === null || typeof former === 'string')) return undefined;
    const created = Array.isArray(folders) ? folders.map(String) : [];
    return { path, former, wrote, folders: created, hooks: hooks === true };
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

/** Matches the names of the programs that our hooks run. */
const HOOKS = /lookfirst-(?:hook|opencode)\b/;

/** Removes the empty ones of these folders, inner ones first. */
function removeFolders(folders: readonly string[]): void {
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) removeEmptyFolder(folder);
}

export function contentHash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
