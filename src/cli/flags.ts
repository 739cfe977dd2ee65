import { type Command, InvalidArgumentError, Option } from 'commander';
import { DIALECT_NAMES } from '../dialect/tool.ts';
import { ENTRY_KINDS, type EntryKind } from '../model/entry.ts';
import { PRESET_NAMES } from '../model/policy.ts';
import type { EntryRequest } from '../records/entry-choice.ts';
import type { Cli } from './cli.ts';
import { dateOption } from './conventions.ts';
import { didYouMean } from './words.ts';

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A flag that every command accepts, so that scripts can pass it to each, and that few commands use. */
type RareFlag = 'workspace' | 'preset' | 'read-only';

/**
 * Adds the flags that every command has: the location of the state and the form of the answer. The
 * help shows a rare flag only if it is in `shown`.
 */
export function addCommonFlags(command: Command, ...shown: readonly RareFlag[]): Command {
  command
    .option('--json', 'answer in JSON, one object per line')
    .addOption(dateOption())
    .option('--store <url>', 'memory:, sqlite:/absolute/file.db or postgres://… (LOOKFIRST_STORE)')
    .option('--policy <file>', 'policy file (default: lookfirst.json in the state folder)');
  const rare: readonly Option[] = [
    new Option('--workspace <name>', 'with postgres: the workspace of this name'),
    new Option('--shared-workspace', 'other machines write to this workspace too'),
    new Option('--preset <name>', 'start from this preset').choices(PRESET_NAMES),
    new Option('--dialect <name>', 'dialect of the tools').choices(DIALECT_NAMES),
    new Option('--read-only', 'change nothing'),
  ];
  for (const option of rare)
    command.addOption(option.hideHelp(!shown.some((name) => name === option.name())));
  return command;
}

/**
 * The option `--session` for commands that use no session. They accept it, so that scripts can pass it to every
 * command.
 */
export function unusedSessionOption(): Option {
  return new Option('--session <id>', 'no meaning here').hideHelp();
}

/** Flags that select workspaces. */
export interface ScopeFlags {
  readonly root?: readonly string[];
  readonly all?: boolean;
}

/** Flags that select journal entries. */
export interface FilterFlags extends ScopeFlags {
  readonly path?: string;
  readonly session?: string;
  readonly since?: number;
  readonly until?: number;
  readonly kind?: readonly EntryKind[];
  /** The maximum number of entries; 0 means all. */
  readonly limit?: number;
}

/**
 * The request for the journal entries that the flags select. Relative paths refer to the current
 * folder.
 */
export function entryRequest(cli: Cli, flags: FilterFlags): EntryRequest {
  const { root, all, path, session, since: sinceMs, until: untilMs, kind: kinds, limit } = flags;
  return { cwd: cli.cwd, root, all, path, session, sinceMs, untilMs, kinds, limit };
}

/** Adds the flags that select workspaces. */
export function addScopeFlags(command: Command): Command {
  return command
    .option('--root <dir>', 'use this folder instead of the current one (repeatable)', gather)
    .option('--all', 'every workspace on this machine');
}

/** Adds the flags that select journal entries. */
export function addFilterFlags(command: Command, cli: Cli): Command {
  return addScopeFlags(command)
    .option('--path <path>', 'only this file, or everything in this folder')
    .option('--session <id>', 'only this session')
    .addOption(sinceOption(cli))
    .option('--until <time>', 'nothing after this time', momentParser(cli));
}

export function sinceOption(cli: Cli): Option {
  return new Option('--since <time>', 'nothing before this time: 30m, 2h or 3d ago, or ISO 8601').argParser(
    momentParser(cli),
  );
}

/** Ends with a usage error if `--since` is later than `--until`. */
export function checkPeriod(command: Command, { since, until }: FilterFlags): void {
  if (since !== undefined && until !== undefined && since > until)
    command.error('error: --since is later than --until');
}

export function kindOption(): Option {
  const known = Object.keys(ENTRY_KINDS);
  return new Option('--kind <kinds>', `only these, separated by commas: ${known.join(', ')}`).argParser(
    (text: string) => {
      const kinds = text.split(',').map((kind) => kind.trim());
      const wrong = kinds.find((kind) => !Object.hasOwn(ENTRY_KINDS, kind));
      if (wrong !== undefined)
        throw new InvalidArgumentError(`${didYouMean(wrong, known)} Choose from ${known.join(', ')}.`.trim());
      return kinds;
    },
  );
}

export function limitOption(limit: number): Option {
  return new Option('--limit <n>', 'at most N rows (0 = all)').default(limit).argParser(wholeNumber);
}

export function linesOption(lines: number): Option {
  return new Option('--max-lines <n>', 'at most N lines of a file').default(lines).argParser(wholeNumber);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function durationParser(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Use a number with s, m, h, d or w, as in 30d.');
  return ms;
}

function momentParser(cli: Cli): (text: string) => number {
  return (text) => {
    const ms = parseMoment(text, cli.nowMs);
    if (ms === undefined)
      throw new InvalidArgumentError('Use a time ago, as in 2h or 3d, or ISO 8601, as in 2026-01-31T09:30.');
    return ms;
  };
}

/** Collects the values of a flag that may be given several times. */
export function gather(value: string, all: readonly string[] = []): readonly string[] {
  return [...all, value];
}

/** Parses a duration such as `30m`, `2h` or `3d` to milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text.trim()) ?? [];
  const unitMs = unit === undefined ? undefined : UNITS_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
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
