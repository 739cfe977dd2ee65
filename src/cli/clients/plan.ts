import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../model/record.ts';
import type { ProjectGit } from '../../session/project-git.ts';
import { unifiedDiff } from '../../text/unified.ts';
import type { Client, ClientPlaces, ConfigScope } from './client.ts';
import { type ConfigFile, configText, readConfig, writeConfig } from './config-file.ts';
import type { ConfigSyntax, ConfigTable } from './config-value.ts';
import { CONFIG_SYNTAXES, type EditedConfig, editConfig, valuesOf } from './edit-config.ts';
import { contentHash, type FormerContent, type FormerFiles } from './former.ts';
import { HOOK_SETTINGS, type HookFiles } from './hook-settings.ts';
import type { Starter } from './launch.ts';
import { type HookRequest, piecesOf, withoutPieces } from './pieces.ts';
import { withoutServers } from './servers.ts';

export interface ConfigureRequest {
  readonly action: 'init' | 'remove';
  readonly client: Client;
  readonly places: ClientPlaces;
  /** The full path of the folder that our server serves, or whose files our proxy guards. */
  readonly dir: string;
  /**
   * Selects the user's file or the project's file. Default for `init`: the client's default scope.
   * Default for `remove` and `proxy`: the scope in which the entry is found.
   */
  readonly scope?: ConfigScope;
  /**
   * The name of a server in the client's configuration. If given, `init` puts our proxy before this
   * server and does not add our own server. `remove` then removes only that proxy.
   */
  readonly proxy?: string;
  /** The files that hooks run. */
  readonly files: HookFiles;
  /** If given, `init` also adds hooks to the client's settings. `remove` always removes them. */
  readonly hooks?: HookRequest;
  readonly dryRun: boolean;
  /** The command with which the client starts our server; default: npx. */
  readonly starter?: Starter;
  /** Keeps the former contents of the files for a later `remove`. */
  readonly former: FormerFiles;
  /** How the project's files are shared. If absent, git is not asked and nothing is excluded. */
  readonly sharing?: Sharing;
}

/** The change of one configuration file. In a dry run, the file was not changed. */
export type ConfigureReport =
  | {
      readonly ok: true;
      readonly file: string;
      readonly did: 'create' | 'change' | 'delete' | 'nothing';
      /** A unified diff; empty if nothing changes. */
      readonly diff: string;
      /** The user's next step after `init`; empty after `remove`. */
      readonly next: string;
      /** A fact about the change that the user should know; absent if there is none. */
      readonly note?: string;
    }
  /** `file`: the file that cannot be edited. Absent if no file is the cause. */
  | {
      readonly ok: false;
      readonly file?: string;
      readonly reason: string;
      readonly line?: number;
      /** The lines that the user can add by hand instead. */
      readonly byHand?: string;
    };

/** How the project's files are shared with other people. */
export interface Sharing {
  /** Git's facts about the client's files in the project; undefined outside a repository. */
  readonly git: ProjectGit | undefined;
  /** True if the user chose `--scope project`: other people get the project's files. */
  readonly isShared: boolean;
  /** Files in the project that are for one user even with `--scope project`. */
  readonly personal: readonly string[];
  /** Full paths that are valid only on this machine. */
  readonly machinePaths: readonly string[];
}

/** The text of a file before `init` changed it. `gone`: none of our entries is left in the file, so no record is needed. */
type PlannedRecord = 'gone' | { readonly former: string | undefined };

interface PlannedFile {
  readonly file: ConfigFile;
  /** The path that the client uses. It may be a link to the real file. */
  readonly path: string;
  readonly text: string | undefined;
  readonly record: PlannedRecord;
}

interface ChangeOptions {
  readonly next?: string;
  /** The lines that the user can add by hand if the file cannot be edited. */
  readonly byHand?: string;
  /**
   * Treatment of a file that cannot be read or parsed. `report` (default): the plan fails. `skip`:
   * the plan ignores an unreadable file if `init` has no record of it, and a file with a syntax
   * error if it does not contain our name.
   */
  readonly broken?: 'skip' | 'report';
}

/** A change of a file's values. `withoutUs`: removes everything of ours. */
type ValueChange = 'withoutUs' | ((have: ConfigTable) => ConfigTable);

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

  change(path: string, change: ValueChange, more: ChangeOptions = {}): ConfigureReport {
    const { former } = this.#request;
    const { next = '', broken, byHand } = more;
    const nothing = { ok: true, file: path, did: 'nothing', diff: '', next } as const;
    const file = readConfig(path);
    if ('reason' in file) {
      const isNotOurs = broken === 'skip' && former.of(path) === undefined;
      return isNotOurs ? nothing : { ok: false, file: path, reason: file.reason };
    }
    const planned = this.#files.get(file.path);
    const text = planned === undefined ? file.text : planned.text;
    const syntax = syntaxOf(path);
    const edit = this.#edited(file.path, text, { change, syntax });
    if (!edit.ok && broken === 'skip' && !hasOurName(text)) return nothing;
    if (!edit.ok) {
      const { byHand: isByHand, ...failure } = edit;
      return { ...failure, file: path, ...(isByHand ? defined({ byHand }) : {}) };
    }
    const record = planned?.record ?? this.#recordOf(file, edit.text, syntax);
    const report = this.#put({ file, path, text: edit.text, record });
    return report.ok ? { ...report, next } : { ...report, ...defined({ byHand }) };
  }

  #put(planned: PlannedFile): ConfigureReport {
    const { file, path, text } = planned;
    const known = this.#files.get(file.path);
    const before = known === undefined ? file.text : known.text;
    if (text !== before && file.isReadOnly) return { ok: false, file: path, reason: 'it is read-only' };
    this.#files.set(file.path, planned);
    const diff = unifiedDiff(before ?? '', text ?? '', { maxLines: 200, context: 2 }).text;
    return { ok: true, file: path, did: didOf(before, text), diff, next: '' };
  }

  /**
   * The text after a change. `remove` restores the kept text, byte for byte, if the file is as
   * `init` wrote it and its values would be the same.
   */
  #edited(
    path: string,
    text: string | undefined,
    { change, syntax }: { readonly change: ValueChange; readonly syntax: ConfigSyntax },
  ): EditedConfig {
    const { action, former } = this.#request;
    const known = former.of(path);
    if (text === undefined && action === 'remove') return { ok: true, text };
    const edit =
      change === 'withoutUs'
        ? withoutUs(this.#request, text, { syntax, known })
        : editConfig(syntax, text, change);
    if (!edit.ok || action === 'init' || known?.wrote !== contentHash(text ?? '')) return edit;
    const values = (content: string | undefined) =>
      content === undefined ? undefined : valuesOf(syntax, content);
    const isSame = change === 'withoutUs' || isDeepStrictEqual(values(known.text), values(edit.text));
    return isSame ? { ok: true, text: known.text } : edit;
  }

  /** The record for a later `remove`: what the file held before `init`, or holds now without us. */
  #recordOf({ path, text }: ConfigFile, after: string | undefined, syntax: ConfigSyntax): PlannedRecord {
    const { action, proxy } = this.#request;
    if (action === 'remove' && proxy === undefined) return 'gone';
    const known = this.#request.former.of(path);
    const isCurrent = text !== undefined && known?.wrote === contentHash(text);
    const edit = isCurrent ? undefined : withoutUs(this.#request, text, { syntax, known, theirs: text });
    const former = edit === undefined ? known?.text : edit.ok ? edit.text : text;
    // After removing one proxy, the rest of what `init` wrote still needs its record.
    return action === 'remove' && after === former ? 'gone' : { former };
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
    const { excludeFile: path } = sharing.git;
    const file = readConfig(path);
    if ('reason' in file) return [{ ok: false, file: path, reason: file.reason }];
    const { text: before = '' } = file;
    const lines =
      action === 'init' ? linesToExclude(sharing, places, this.#planned()) : this.#unneeded(sharing.git);
    const after = action === 'init' ? withLines(before, lines) : withoutLines(before, lines);
    if (after === before) return [];
    const report = this.#put({ file, path, text: after === '' ? undefined : after, record: 'gone' });
    const names = lines.map((line) => line.slice(1)).join(' and ');
    const isNoted = report.ok && action === 'init';
    return [isNoted ? { ...report, note: `git now ignores ${names} in this repository` } : report];
  }

  /** The lines of git's exclude file that are not needed: their files have none of our entries left. */
  #unneeded({ patterns }: ProjectGit): readonly string[] {
    const planned = new Map(this.#planned().map(({ path, after }) => [path, after]));
    const isOurs = (path: string) => hasOurName(planned.has(path) ? planned.get(path) : configText(path));
    return [...patterns].flatMap(([path, pattern]) => (isOurs(path) ? [] : [pattern]));
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
    const { former } = this.#request;
    const changed = [...this.#files.values()].filter(({ file, text }) => text !== file.text);
    const takeBack: (() => void)[] = [];
    let isDone = false;
    try {
      for (const { file, text, record } of changed) {
        if (text !== undefined && record !== 'gone')
          takeBack.push(former.keep(file.path, record.former, text));
        if (!writeConfig(file, text))
          return [{ ok: false, file: file.path, reason: 'it was changed meanwhile; try again' }];
        takeBack.push(() => writeConfig({ ...file, text }, file.text));
      }
      isDone = true;
    } finally {
      if (!isDone) for (const step of takeBack.toReversed()) attempt(step);
    }
    for (const { file, record } of changed) if (record === 'gone') former.forget(file.path);
    return undefined;
  }
}

function syntaxOf(path: string): ConfigSyntax {
  return path.endsWith('.toml') ? CONFIG_SYNTAXES.toml : CONFIG_SYNTAXES.json;
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
 * A text without everything that any `init` of this client wrote. Undefined if nothing else is left
 * of a file that `init` has created, or may have created. `known`: what the file held before
 * `init`; without it, `theirs` holds the settings without our name that are the user's.
 */
function withoutUs(
  { client, files }: ConfigureRequest,
  text: string | undefined,
  more: {
    readonly syntax: ConfigSyntax;
    readonly known: FormerContent | undefined;
    readonly theirs?: string | undefined;
  },
): EditedConfig {
  const { syntax, known, theirs } = more;
  const values = (content: string | undefined) => valuesOf(syntax, content ?? '') ?? {};
  const former = known === undefined ? undefined : values(known.text);
  const settings = HOOK_SETTINGS[client.name];
  const all = { gate: true, only: true, shell: 'layer' } as const;
  const pieces = settings === undefined ? [] : piecesOf(settings, files, all);
  const before = former ?? (theirs === undefined ? undefined : values(theirs));
  const edit = editConfig(syntax, text, (have) =>
    withoutPieces(withoutServers(client, have, former), pieces, before),
  );
  if (!edit.ok || edit.text === text || known?.text !== undefined) return edit;
  const left = edit.text?.replace(/"version": 1\b/, '').replace(/[\s\ufeff]+/g, '');
  return left === '' || left === '{}' ? { ok: true, text: undefined } : edit;
}

function didOf(
  before: string | undefined,
  after: string | undefined,
): 'create' | 'change' | 'delete' | 'nothing' {
  if (after === before) return 'nothing';
  if (before === undefined) return 'create';
  return after === undefined ? 'delete' : 'change';
}

function hasOurName(text: string | undefined): boolean {
  return text?.includes('lookfirst') === true;
}

/** A configuration file as `init` or `remove` found it and will leave it. */
interface PlannedConfig {
  /** The file's full path as the client names it. Links are not followed. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** True if people commit this file, or the user wants to share it. */
function isForOthers({ git, isShared, personal }: Sharing, places: ClientPlaces, path: string): boolean {
  if (git?.tracked.has(path) === true) return true;
  return isShared && path.startsWith(`${places.project}/`) && !personal.includes(path);
}

/**
 * The reason not to write a file: other people get it, and it would contain a path of this machine.
 * Undefined if there is no such reason.
 */
function exposedPath(
  sharing: Sharing,
  places: ClientPlaces,
  { path, before = '', after = '' }: PlannedConfig,
): string | undefined {
  if (!isForOthers(sharing, places, path)) return undefined;
  const isNew = (machinePath: string): boolean =>
    after.split(machinePath).length > before.split(machinePath).length;
  const found = sharing.machinePaths.find((machinePath) => machinePath !== '/' && isNew(machinePath));
  if (found === undefined) return undefined;
  const why = sharing.isShared ? '--scope project shares it' : 'git tracks it';
  return `${why}, so other people would get ${found}, a path of this machine; use --scope user`;
}

/**
 * The lines of git's exclude file for the planned files that are for one user only. Empty if git
 * ignores them already.
 */
function linesToExclude(
  sharing: Sharing,
  places: ClientPlaces,
  planned: readonly PlannedConfig[],
): readonly string[] {
  const { git } = sharing;
  return planned.flatMap(({ path, after }) => {
    const pattern = git?.patterns.get(path);
    if (pattern === undefined || after === undefined || git?.ignored.has(path)) return [];
    return isForOthers(sharing, places, path) ? [] : [pattern];
  });
}

/** The comment above each line that `init` adds to git's exclude file. `remove` finds the lines by it. */
const MARK = '# added by lookfirst init';

/** Adds lines at the beginning of git's exclude file, so that the rest stays byte for byte. */
function withLines(text: string, lines: readonly string[]): string {
  return `${lines.map(marked).join('')}${text}`;
}

/** Removes lines that `init` added to git's exclude file. */
function withoutLines(text: string, lines: readonly string[]): string {
  return lines.reduce((left, line) => left.replace(marked(line), ''), text);
}

function marked(line: string): string {
  return `${MARK}\n${line}\n`;
}
