import type { ProjectGit } from '../../session/project-git.ts';
import { unifiedDiff } from '../../text/unified.ts';
import { type ConfigFile, readConfig, writeConfig } from './config-file.ts';
import type { EditedConfig } from './edit.ts';
import {
  exposedPath,
  linesToExclude,
  type PlannedConfig,
  withLines,
  withoutLines,
} from './personal-files.ts';
import type { ConfigureReport, ConfigureRequest } from './request.ts';

interface PlannedFile {
  readonly file: ConfigFile;
  /** The path that the client uses. It may be a link to the real file. */
  readonly path: string;
  readonly text: string | undefined;
  /** Names of the pieces (hooks, denied tools) that `init` adds to the file. */
  readonly added: readonly string[];
  /** For `remove`: the recorded pieces that stay in the file. If absent, the whole record is dropped. */
  readonly stays?: readonly string[] | undefined;
}

interface ChangeOptions {
  readonly next?: string;
  /** Returns the names of the pieces (hooks, denied tools) that the change adds to a text. */
  readonly added?: (text: string | undefined) => readonly string[];
  /**
   * Treatment of a file that cannot be read or parsed. `report` (default): the plan fails. `skip`:
   * the plan ignores an unreadable file if `init` has no record of it, and a file with a syntax
   * error if it does not contain our name.
   */
  readonly broken?: 'skip' | 'report';
  /** For `remove`: the recorded pieces that stay. The former content is then not restored as a whole. */
  readonly stays?: readonly string[];
}

/**
 * Planned edits of files. A later edit of a file starts from the text that the earlier edit left.
 * Nothing is written before `commit`.
 */
export class Plan {
  readonly #request: ConfigureRequest;
  readonly #files = new Map<string, PlannedFile>();

  constructor(request: ConfigureRequest) {
    this.#request = request;
  }

  change(
    path: string,
    change: (text: string | undefined, path: string) => EditedConfig,
    more: ChangeOptions = {},
  ): ConfigureReport {
    const { former } = this.#request;
    const { next = '', broken } = more;
    const nothing = { ok: true, file: path, did: 'nothing', diff: '', next } as const;
    const file = readConfig(path);
    if ('reason' in file) {
      const isForeign = broken === 'skip' && former?.added(path) === undefined;
      return isForeign ? nothing : { ok: false, file: path, reason: file.reason };
    }
    const planned = this.#files.get(file.path);
    const text = planned === undefined ? file.text : planned.text;
    const edit = formerOf(this.#request, file, more) ?? change(text, file.path);
    if (!edit.ok && broken === 'skip' && text?.includes('lookfirst') !== true) return nothing;
    if (!edit.ok) return { ...edit, file: path };
    if (edit.text !== text && file.isReadOnly) return { ok: false, file: path, reason: 'it is read-only' };
    const added = [...(planned?.added ?? []), ...(more.added?.(text) ?? [])];
    this.#files.set(file.path, { file, path, text: edit.text, added, stays: more.stays });
    const diff = unifiedDiff(text ?? '', edit.text ?? '', { maxLines: 200, context: 2 }).text;
    return { ok: true, file: path, did: didOf(text, edit.text), diff, next };
  }

  /** The files that other people get and that would contain a path of this machine, as failures. */
  exposed(): readonly ConfigureReport[] {
    const { action, sharing, places } = this.#request;
    if (sharing === undefined || action === 'remove') return [];
    return this.#planned().flatMap((planned) => {
      const reason = exposedPath(sharing, places, planned);
      return reason === undefined ? [] : [{ ok: false, file: planned.path, reason }];
    });
  }

  /**
   * Makes git ignore the files that `init` writes for one user, in the repository's own exclude file.
   * `remove` takes the lines of files without our entries back.
   */
  exclude(): readonly ConfigureReport[] {
    const { action, sharing, places } = this.#request;
    if (sharing?.git === undefined) return [];
    const { excludeFile } = sharing.git;
    const report =
      action === 'init'
        ? this.#addLines(excludeFile, linesToExclude(sharing, places, this.#planned()))
        : this.#dropLines(excludeFile, sharing.git);
    return report.ok && report.did === 'nothing' ? [] : [report];
  }

  #addLines(excludeFile: string, lines: readonly string[]): ConfigureReport {
    if (lines.length === 0) return { ok: true, file: excludeFile, did: 'nothing', diff: '', next: '' };
    const report = this.change(excludeFile, (text) => withLines(text, lines), { added: () => lines });
    return report.ok ? { ...report, note: `git now ignores ${namesOf(lines)} in this repository` } : report;
  }

  #dropLines(excludeFile: string, { patterns }: ProjectGit): ConfigureReport {
    const file = readConfig(excludeFile);
    const path = 'reason' in file ? excludeFile : file.path;
    const { former } = this.#request;
    const recorded = former?.added(path) ?? [];
    const planned = new Map(this.#planned().map(({ path: name, after }) => [name, after]));
    const lines = [...patterns]
      .filter(([name]) => !hasOurs(planned.has(name) ? planned.get(name) : textAt(name)))
      .map(([, pattern]) => pattern)
      .filter((pattern) => recorded.includes(pattern));
    if (lines.length === 0) return { ok: true, file: excludeFile, did: 'nothing', diff: '', next: '' };
    const stays = recorded.filter((line) => !lines.includes(line));
    return this.change(excludeFile, (text) => withoutLines(text, lines, { path, former, left: stays }), {
      stays,
    });
  }

  #planned(): readonly PlannedConfig[] {
    return [...this.#files.values()].map(({ file, path, text }) => ({
      path,
      before: file.text,
      after: text,
    }));
  }

  /** Writes all files, or none. Returns a failure if another program changed one of them since it was read. */
  commit(): readonly ConfigureReport[] | undefined {
    const { action, former } = this.#request;
    const changed = [...this.#files.values()].filter(({ file, text }) => text !== file.text);
    const takeBack: (() => void)[] = [];
    let isDone = false;
    try {
      for (const { file, text, added } of changed) {
        if (former !== undefined && action === 'init' && text !== undefined) {
          takeBack.push(former.restorer(file.path));
          former.keep(file.path, file.text, { next: text, added });
        }
        if (!writeConfig(file, text))
          return [{ ok: false, file: file.path, reason: 'it was changed meanwhile; try again' }];
        takeBack.push(() => writeConfig({ ...file, text }, file.text));
      }
      isDone = true;
    } finally {
      if (!isDone) for (const step of takeBack.toReversed()) attempt(step);
    }
    for (const each of changed) this.#record(each);
    return undefined;
  }

  /** Updates the records of `init` after a file was changed. */
  #record({ file, text, stays = [] }: PlannedFile): void {
    const { action, former } = this.#request;
    if (action === 'remove' && stays.length > 0)
      former?.restrict(file.path, { before: file.text, next: text }, stays);
    else if (action === 'remove') former?.forget(file.path);
    if (text === undefined) former?.dropFolders(file.path);
  }
}

/** Runs a step that reverts a change. Ignores its errors, because the caller reports the original error. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // Ignore the error, so that the remaining steps still run.
  }
}

/**
 * The file's content before the first `init`, which `remove` restores. Undefined if there is no
 * record of it, if the file has changed since `init`, if pieces stay in it, or if the request is `init`
 * or removes only one proxy.
 */
function formerOf(
  { action, proxy, former }: ConfigureRequest,
  file: ConfigFile,
  { stays }: ChangeOptions,
): EditedConfig | undefined {
  if (action !== 'remove' || proxy !== undefined || stays !== undefined) return undefined;
  const kept = former?.of(file.path, file.text);
  return kept === undefined ? undefined : { ok: true, text: kept.text };
}

function didOf(
  before: string | undefined,
  after: string | undefined,
): 'create' | 'change' | 'delete' | 'nothing' {
  if (after === before) return 'nothing';
  if (before === undefined) return 'create';
  return after === undefined ? 'delete' : 'change';
}

function namesOf(lines: readonly string[]): string {
  return lines.map((line) => line.slice(1)).join(' and ');
}

function textAt(path: string): string | undefined {
  const file = readConfig(path);
  return 'reason' in file ? undefined : file.text;
}

function hasOurs(text: string | undefined): boolean {
  return text?.includes('lookfirst') === true;
}
