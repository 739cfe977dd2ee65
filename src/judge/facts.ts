import type { LineRange } from '../model/coverage.ts';
import type { FileKind } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { LostReason, Sighting } from '../model/sighting.ts';
import type { Action, NextStep, Refusal, RefusalCode, RefusalDetail } from '../model/verdict.ts';

/**
 * The action to judge. A plain write is `overwrite` whether or not the file exists; `create` is only for callers that
 * demand creation. A move is judged twice: its source as `move`, its destination as `overwrite`.
 */
export type JudgedAction = Extract<
  Action,
  'create' | 'overwrite' | 'edit' | 'insert' | 'delete' | 'move' | 'mkdir'
>;

/** The current state of the path. */
export type Target =
  | { readonly exists: false }
  | {
      readonly exists: true;
      readonly kind: FileKind;
      readonly sizeBytes: number;
      /** No user has a write bit (for example mode 0444). */
      readonly readOnly: boolean;
      /** The file has other hard links. */
      readonly linked?: boolean | undefined;
      /** The file has zero bytes. */
      readonly empty: boolean;
      readonly mtimeMs?: number | undefined;
      /** Present only after a first verdict has allowed reading the file. */
      readonly binary?: boolean | undefined;
    };

/** The reason why no sighting can be used. */
export type Absence = 'never' | 'expired' | 'recreated' | 'unverified' | LostReason;

/** The facts for deleting a folder. */
export interface FolderFacts {
  readonly empty: boolean;
  /** The caller set `recursive`. */
  readonly recursive: boolean;
  /** This session was shown every entry below the folder. */
  readonly listedFull?: boolean | undefined;
  readonly listingUnchanged?: boolean | undefined;
}

/**
 * Everything the rules may use, as plain data. Facts from file contents (`touched`, `target.binary`, `placeholder`) are
 * absent until a first verdict has allowed reading the file. Judging a second time with them is cheap.
 */
export interface Facts {
  readonly action: JudgedAction;
  /** The path as the caller wrote it. */
  readonly path: string;
  readonly target: Target;
  readonly nowMs: number;
  /** The path is a root of the workspace. */
  readonly isRoot?: boolean | undefined;
  /** The glob that protects the path. */
  readonly protectedBy?: string | undefined;
  /** The operator's bypass rule that matches, in words. */
  readonly bypassedBy?: string | undefined;
  /** Id of the operator's grant, if `bypassedBy` describes one. */
  readonly grant?: string | undefined;
  /** The stored sighting, even if it is a tombstone or a stub. The rules distinguish these. */
  readonly sighting?: Sighting | undefined;
  /** Set if the caller knows a more precise reason than `never` for the missing sighting. */
  readonly absence?: Absence | undefined;
  /** Compares the current bytes with the sighting's baseline. Absent means unknown. */
  readonly freshness?: 'same' | 'changed' | 'unknown' | undefined;
  /** The bytes differ from the ones this session saw last, but it has seen them whole before. */
  readonly cameBack?: boolean | undefined;
  /** The reason why freshness is unknown. */
  readonly errno?: string | undefined;
  /** The modification time differs from the sighting's; undefined if the sighting has none. For `freshness: mtime`. */
  readonly otherTime?: boolean | undefined;
  /** SHA-256 of the current bytes, lower-case hex. */
  readonly currentHash?: string | undefined;
  /**
   * Revision of the current bytes. Present if the caller sent a revision, or if its last content was refused as STALE.
   */
  readonly currentRevision?: string | undefined;
  readonly expectedRevision?: string | undefined;
  readonly totalLines?: number | undefined;
  /** The insert only appends to the file and destroys nothing. */
  readonly appends?: boolean | undefined;
  /** Lines of the current file that an edit changes; for an insert, the existing lines next to it. */
  readonly touched?: readonly LineRange[] | undefined;
  readonly folder?: FolderFacts | undefined;
  /** SHA-256 of the content that an overwrite would write, lower-case hex. */
  readonly contentHash?: string | undefined;
  /** The kind of content that an overwrite writes; absent counts as text. */
  readonly contentKind?: 'text' | 'bytes' | undefined;
  /** The stub or read decoration that the new text contains and the file does not, in a few words. */
  readonly placeholder?: string | undefined;
  /** The other session whose recorded change produced the current file. */
  readonly writer?: { readonly session: string; readonly atMs: number } | undefined;
}

/** What the session knows about the target: a valid sighting, or the reason why there is none. */
type Knowledge =
  | { readonly known: true; readonly sighting: Sighting }
  | { readonly known: false; readonly absence: Absence; readonly seenAtMs?: number };

/** Separates valid sightings from tombstones, stubs and listings of a folder that is now a file. */
export function knowledgeOf(facts: Facts): Knowledge {
  const { sighting } = facts;
  if (sighting === undefined) return { known: false, absence: facts.absence ?? 'never' };
  if (isStub(sighting))
    return { known: false, absence: sighting.lost ?? 'forgotten', seenAtMs: sighting.atMs };
  if (sighting.tombstone === true && facts.target.exists)
    return { known: false, absence: 'recreated', seenAtMs: sighting.atMs };
  if (sighting.how === 'listing' && facts.target.exists && facts.target.kind !== 'directory')
    return { known: false, absence: 'never' };
  return { known: true, sighting };
}

/** True if only the reason is left of a sighting: no coverage and no baseline. */
export function isStub(sighting: Sighting): boolean {
  return sighting.lost !== undefined && sighting.fingerprint === undefined && sighting.stamp === undefined;
}

/** True if the content to write equals the current content, so that nothing can be lost. */
export function bringsWhatIsThere(facts: Facts): boolean {
  const { action, contentHash, currentHash } = facts;
  return action === 'overwrite' && contentHash !== undefined && contentHash === currentHash;
}

/**
 * The result of one rule: pass, refuse, pass with notices, or `carry`. `carry` means that the edit must be merged with
 * a later change of the file, which may still fail as STALE.
 */
export type Ruling =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'note'; readonly notices: readonly Notice[] }
  | { readonly kind: 'carry' };

/** A pure check of the facts. */
export type JudgeRule = (facts: Facts, policy: Policy) => Ruling;

export const PASS: Ruling = { kind: 'pass' };

/** Builds a refusal from the facts and a reason. */
export function no(facts: Facts, reason: { code: RefusalCode; next: NextStep; detail?: Detail }): Ruling {
  const detail = present(reason.detail ?? {});
  const refusal: Refusal = {
    code: reason.code,
    action: facts.action,
    path: facts.path,
    next: reason.next,
    ...(detail === undefined ? {} : { detail }),
  };
  return { kind: 'refuse', refusal };
}

/** A pass with notices. */
export function note(...notices: readonly Notice[]): Ruling {
  return { kind: 'note', notices };
}

type Detail = { readonly [K in keyof RefusalDetail]: RefusalDetail[K] | undefined };

/** Removes undefined fields, so that details compare and serialise cleanly. */
function present(detail: Detail): RefusalDetail | undefined {
  const entries = Object.entries(detail).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * Files that determine which programs run: git hooks, configuration of coding agents and editors, shell start-up files.
 * A program that an agent runs must not change them unless the policy trusts it.
 */
const GUARDED: readonly RegExp[] = [
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?hooks(\/(?!.*\.sample$)|$)/i,
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?info\/attributes$/i,
  /(^|\/)\.(claude|codex|gemini|cursor|vscode|opencode)(\/|$)/i,
  /(^|\/)(\.mcp\.json|opencode\.jsonc?)$/i,
  /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|envrc|pam_environment)$/i,
];

/** The configuration of a repository, of a submodule or of a worktree. */
const GIT_CONFIG =
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?(worktrees\/[^/]+\/)?config(\.worktree)?$/i;

/** Git settings whose value is a program, or a file with more settings. Branches and remotes are not guarded. */
const RUNS_PROGRAMS: readonly RegExp[] = [
  /^core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)$/,
  /^(alias|pager|include|includeif|browser|man|mergetool|difftool|guitool|trailer)\./,
  /^filter\./,
  /^diff\.(external|.*\.(command|textconv))$/,
  /^merge\..*\.driver$/,
  /^credential\.(.*\.)?helper$/,
  /^(gpg|gpg\..*)\.program$/,
  /^(sequence\.editor|interactive\.difffilter|uploadpack\.packobjectshook|sendemail\..*|protocol\..*)$/,
  /^remote\..*\.(uploadpack|receivepack|vcs)$/,
  /^submodule\..*\.update$/,
  /^url\..*\.(insteadof|pushinsteadof)$/,
];

/** Files that a tool may not change either. Less than `GUARDED`: agents work on other settings of editors every day. */
const GUARDED_FROM_TOOLS =
  /(^|\/)(\.mcp\.json|\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|pam_environment))$/i;

/** Files in which `lookfirst init` writes entries. */
const CLIENT_FILES =
  /(^|\/)(\.claude\/settings(\.local)?\.json|\.codex\/(hooks\.json|config\.toml)|\.gemini\/settings\.json|\.cursor\/(hooks|mcp)\.json|\.vscode\/mcp\.json|\.github\/hooks\/lookfirst\.json|opencode\.jsonc?)$/i;

/**
 * Returns when a tool's change of a file is guarded: always, only while the file holds our entries,
 * or not.
 */
export function toolGuard(relative: string): 'always' | 'own-entries' | undefined {
  if (GUARDED_FROM_TOOLS.test(relative)) return 'always';
  return CLIENT_FILES.test(relative) ? 'own-entries' : undefined;
}

/** True for a file in which only some settings are guarded. Compare both texts with `changedProgram`. */
export function isGitConfig(relative: string): boolean {
  return GIT_CONFIG.test(relative);
}

/** True for a file that determines which programs run. `relative` is a path inside a workspace root. */
export function isGuarded(relative: string): boolean {
  return GUARDED.some((pattern) => pattern.test(relative));
}

/** The first setting that makes two texts of a git configuration run different programs; undefined if there is none. */
export function changedProgram(before: string, after: string): string | undefined {
  const [earlier, later] = [programs(before), programs(after)];
  return [...new Set([...earlier.keys(), ...later.keys()])].find(
    (key) => earlier.get(key) !== later.get(key),
  );
}

/** Settings that run programs, with all their values. */
function programs(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let section = '';
  // A backslash at the end of a line continues the value.
  for (const line of text.replace(/\\\r?\n/g, '').split(/\r?\n/)) {
    const header = HEADER.exec(line);
    section = header === null ? section : sectionOf(header);
    const setting = /^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(header === null ? line : (header[3] ?? ''));
    const key = `${section}.${(setting?.[1] ?? '').toLowerCase()}`;
    if (setting === null || !runsProgram(key)) continue;
    found.set(key, `${found.get(key) ?? ''}${setting[2] ?? ''}\n`);
  }
  return found;
}

const HEADER = /^\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\](.*)$/;

function sectionOf([, name = '', sub]: RegExpExecArray): string {
  return sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub}`;
}

function runsProgram(key: string): boolean {
  return RUNS_PROGRAMS.some((pattern) => pattern.test(key.toLowerCase()));
}
