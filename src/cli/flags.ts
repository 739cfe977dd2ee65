import {
  choice,
  didYouMean,
  type Flag,
  type Flags,
  type FlagsOf,
  parsed,
  several,
  text,
  toggle,
  UsageError,
  withDefault,
} from '../config/flags.ts';
import { DIALECT_NAMES, type DialectName } from '../dialect/tool.ts';
import { ENTRY_KINDS, type EntryKind } from '../model/entry.ts';
import { PRESET_NAMES } from '../model/policy.ts';
import { isSessionId } from '../model/session-record.ts';
import type { EntryRequest } from '../records/entry-choice.ts';
import type { StateFlags } from '../session/configured.ts';

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/**
 * The values of the options that mean the same in every command that has them. `root` and `all` select
 * workspaces.
 */
export interface GlobalFlags extends StateFlags {
  readonly json?: boolean;
  readonly color?: 'auto' | 'always' | 'never';
  readonly date?: 'relative' | 'iso';
  readonly dialect?: DialectName;
  readonly session?: string;
  readonly root?: readonly string[];
  readonly all?: boolean;
}

type TableOf<K extends keyof GlobalFlags> = FlagsOf<Pick<GlobalFlags, K>>;

/** The form of the answer: the flags of every command that answers the user. */
const OUTPUT_FLAGS: TableOf<'json' | 'color' | 'date'> = {
  json: toggle('print JSON, one object per line'),
  color: withDefault(choice('WHEN', 'when to colour the output', ['auto', 'always', 'never']), 'auto'),
  date: withDefault(choice('FORM', 'show times as an age or in full', ['relative', 'iso']), 'relative'),
};

/** For a command whose output belongs to a protocol. */
export const COLOR_ONLY: Flags = { color: OUTPUT_FLAGS.color };

/** All flags that a command accepts: those for the form of its answer, and its own. */
export function acceptedFlags({ flags, outputFlags = OUTPUT_FLAGS }: CommandFlags): Flags {
  return { ...outputFlags, ...flags };
}

interface CommandFlags {
  readonly flags: Flags;
  readonly outputFlags?: Flags;
}

/** The location of the state, and the policy: every command that uses the state has these flags. */
export const STATE_FLAGS: TableOf<keyof StateFlags | 'dialect' | 'session'> = {
  store: text('URL', 'memory:, sqlite:/absolute/file.db or postgres://… (LOOKFIRST_STORE)'),
  policy: text('FILE', 'policy file (default: lookfirst.json in the state folder)'),
  preset: choice('NAME', 'start from this preset', PRESET_NAMES),
  dialect: choice('NAME', 'tool names and arguments', DIALECT_NAMES),
  session: text('ID', 'the session the command is about (LOOKFIRST_SESSION)'),
  readOnly: toggle('change nothing'),
  workspace: text('NAME', "with postgres: this workspace's name on every machine"),
  sharedWorkspace: toggle('with postgres: other machines write to these folders too'),
};

/** The flags that only the general help explains. */
export const GLOBAL_FLAGS: Flags = { ...OUTPUT_FLAGS, ...STATE_FLAGS };

/** Flags that select workspaces. */
export const SCOPE_FLAGS: TableOf<'root' | 'all'> = {
  root: several('DIR', 'use this folder instead of the current one (repeatable)'),
  all: toggle('every workspace on this machine'),
};

export const SINCE: Flag<number> = moment('only what happened since: 30m, 2h or 3d ago, or ISO 8601');

/** The values of the flags that select journal entries. */
interface FilterFlags {
  readonly path?: string;
  readonly session?: string;
  readonly since?: number;
  readonly until?: number;
}

/** Flags that select journal entries. */
export const FILTER_FLAGS: FlagsOf<FilterFlags & Pick<GlobalFlags, 'root' | 'all'>> = {
  ...SCOPE_FLAGS,
  path: text('PATH', 'only this file, or everything in this folder'),
  session: text('ID', 'only this session'),
  since: SINCE,
  until: moment('nothing after this time'),
};

/**
 * The request for the journal entries that the flags select. Relative paths refer to the current
 * folder. Throws a usage error if `--since` is later than `--until`.
 */
export function entryRequest(
  { cwd, flags: { root, all } }: { readonly cwd: string; readonly flags: GlobalFlags },
  flags: FilterFlags & { readonly kind?: readonly EntryKind[]; readonly limit?: number },
): EntryRequest {
  const { path, session, since: sinceMs, until: untilMs, kind: kinds, limit } = flags;
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs)
    throw new UsageError('--since is later than --until');
  return { cwd, root, all, path, session, sinceMs, untilMs, kinds, limit };
}

const KINDS = Object.keys(ENTRY_KINDS);

export const KIND: Flag<readonly EntryKind[]> = parsed(
  ['KINDS', `only these, separated by commas: ${KINDS.join(', ')}`],
  (list) => {
    const kinds = splitKinds(list);
    return kinds.every(isKind) ? kinds : undefined;
  },
  (list) => {
    const wrong = splitKinds(list).find((kind) => !isKind(kind)) ?? '';
    return `${didYouMean(wrong, KINDS)} Choose from ${KINDS.join(', ')}.`.trim();
  },
);

function splitKinds(list: string): string[] {
  return list.split(',').map((kind) => kind.trim());
}

function isKind(kind: string): kind is EntryKind {
  return Object.hasOwn(ENTRY_KINDS, kind);
}

export function limit(rows: number): Flag<number> & { readonly fallback: number } {
  return withDefault(wholeNumber('at most N rows (0 = all)'), rows);
}

export function maxLines(lines: number): Flag<number> & { readonly fallback: number } {
  return withDefault(wholeNumber('at most N lines per file'), lines);
}

function wholeNumber(about: string): Flag<number> {
  return parsed(
    ['N', about],
    (word) => (/^\d{1,9}$/.test(word) ? Number(word) : undefined),
    () => 'It must be a whole number.',
  );
}

/** The port of a server on this machine; 0 is any free one. */
export function parsePort(word: string): number | undefined {
  return /^\d{1,5}$/.test(word) && Number(word) <= 65_535 ? Number(word) : undefined;
}

export const PORT_HINT = 'A port is a number from 0 to 65535.';

/** The flag `--http [PORT]`. */
export function httpFlag(about: string): Flag<{ readonly port?: number }> {
  return {
    about,
    value: 'PORT',
    takes: 'maybe',
    bare: {},
    accepts: (word) => /^\d+$/.test(word),
    read: (word) => {
      const port = parsePort(word);
      return port === undefined ? undefined : { port };
    },
    hint: () => PORT_HINT,
  };
}

export const SERVED_SESSION: Flag<string> = parsed(
  ['ID', "the session for calls that don't name one (LOOKFIRST_SESSION)"],
  (id) => (isSessionId(id) ? id : undefined),
  () => 'Use up to 200 printable characters.',
);

export function duration(about: string): Flag<number> {
  return parsed(
    ['TIME', about],
    (word) => parseDuration(word) || undefined,
    () => DURATION_HINT,
  );
}

export const DURATION_HINT = 'Use a number with s, m, h, d or w, as in 30d.';

function moment(about: string): Flag<number> {
  return parsed(
    ['TIME', about],
    (word) => parseMoment(word, Date.now()),
    () => 'Use a time ago, as in 2h or 3d, or ISO 8601, as in 2026-01-31T09:30.',
  );
}

/** A longer time, counted from now, may be no date. */
const LONGEST_MS = 100 * 366 * 86_400_000;

/** Parses a duration such as `30m`, `2h` or `3d` to milliseconds. Undefined for any other text, and for more than a century. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text.trim()) ?? [];
  const unitMs = unit === undefined ? undefined : UNITS_MS[unit];
  const ms = Number(amount) * (unitMs ?? Number.NaN);
  return ms <= LONGEST_MS ? ms : undefined;
}

/**
 * Parses a point in time: an age such as `2h`, counted back from now, or ISO 8601. A time without a
 * zone is local, and a date without a time means the start of the day. Undefined for any other
 * text.
 */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const ago = parseDuration(text);
  if (ago !== undefined) return nowMs - ago;
  const iso = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.exec(
    text.trim(),
  );
  if (iso === null) return undefined;
  // Add a time to a bare date, so that it is local. JavaScript reads a bare date as UTC, which is
  // the previous day in the Americas.
  const ms = Date.parse(iso[0].length === 10 ? `${iso[0]}T00:00` : iso[0].replace(' ', 'T'));
  return Number.isNaN(ms) ? undefined : ms;
}
