import { createHash } from 'node:crypto';
import { join, sep } from 'node:path';
import { isRecord, parseJson } from '../../model/record.ts';
import { missingFolders, readConfig, removeEmptyFolder, writeConfig } from './config-file.ts';

/** The content of a configuration file before its first `init`, and the hash of what `init` wrote. */
interface Former {
  readonly path: string;
  /** The file's content before the first `init`; null if there was no file. */
  readonly former: string | null;
  /**
   * SHA-256 of what `init` wrote last. Empty if `former` must not be restored, because it already
   * contains our entry.
   */
  readonly wrote: string;
  /** Names of the pieces (hooks, denied tools) that `init` added. */
  readonly added?: readonly string[];
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
   * Stores the file's present content for `remove`. If `init` wrote this content, the content
   * stored earlier stays. Content that already contains our entry is stored, but never restored.
   */
  keep(
    path: string,
    now: string | undefined,
    { next, added }: { readonly next: string; readonly added: readonly string[] },
  ): void {
    const known = this.#read(path);
    const isOurs = known !== undefined && known.wrote === hashOf(now);
    const former = isOurs ? known.former : (now ?? null);
    const wrote = !isOurs && now?.includes('lookfirst') === true ? '' : hashOf(next);
    this.#write(path, { path, former, wrote, added: [...new Set([...(known?.added ?? []), ...added])] });
    this.#keepFolders([...missingFolders(path), ...this.#folders()]);
  }

  /** The content before `init`, if the file is unchanged since `init` wrote it; otherwise undefined. */
  of(path: string, now: string | undefined): { readonly text: string | undefined } | undefined {
    const known = this.#read(path);
    if (known === undefined || now === undefined || known.wrote !== hashOf(now)) return undefined;
    return { text: known.former ?? undefined };
  }

  /**
   * Names of the pieces (hooks, denied tools) that `init` added to the file; undefined if there is
   * no record.
   */
  added(path: string): readonly string[] | undefined {
    const known = this.#read(path);
    return known === undefined ? undefined : (known.added ?? []);
  }

  /** Records that `remove` took out of the file all pieces but these. */
  restrict(
    path: string,
    texts: { readonly before: string | undefined; readonly next: string | undefined },
    added: readonly string[],
  ): void {
    const known = this.#read(path);
    if (known === undefined) return;
    const wrote = known.wrote === hashOf(texts.before) ? hashOf(texts.next) : known.wrote;
    this.#write(path, { ...known, wrote, added });
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
      (value['former'] === null || typeof value['former'] === 'string') &&
      (value['added'] === undefined || Array.isArray(value['added']));
    // The cast is safe: each field has just been checked.
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

function hashOf(text: string | undefined): string {
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex');
}
