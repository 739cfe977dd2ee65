import { UsageError } from '../config/flags.ts';
import type { ChangeEntry } from '../model/entry.ts';
import type { NextStep, Refusal } from '../model/verdict.ts';
import type { Records } from '../records/records.ts';
import { harmless, phrase } from '../report/bounded.ts';
import { quoted } from '../report/evidence.ts';
import { apartFromGit, GITS_OWN_FILES } from '../report/git-files.ts';
import { refusalOutcome } from '../report/json.ts';
import { firstSentence } from '../report/sentences.ts';
import { type Cli, EXIT, type ExitCode, UnknownSession } from './cli.ts';

/** The next step for a user who has given an unknown change id. */
export const LISTS_CHANGES = 'lookfirst log --kind change lists the changes.';

/**
 * Prints a refusal for users, or as one line of JSON for programs, and returns its exit code. `hint`:
 * what the user can do next.
 */
export async function tellRefusal(cli: Cli, refusal: Refusal, hint?: string): Promise<ExitCode> {
  const lines = (): string[] => [
    `lookfirst: ${sentence(refusal)}`,
    ...quoted(refusal).map(harmless),
    ...refusedFiles(refusal),
    ...(hint === undefined ? [] : [hint]),
  ];
  if (cli.flags.json === true) await cli.terminal.printJson(refusalOutcome(refusal));
  else cli.terminal.tell(lines().join('\n'));
  return EXIT.refused;
}

/** Refuses a command for a reason that concerns no file. */
export function refuseCommand(
  cli: Cli,
  [code, next, reason]: readonly [
    code: 'NOT_FOUND' | 'READ_ONLY' | 'PROTECTED',
    next: NextStep,
    reason: string,
  ],
  hint?: string,
): Promise<ExitCode> {
  return tellRefusal(cli, { code, action: 'status', path: '', next, detail: { reason } }, hint);
}

const MAX_LISTED = 20;

/** One line for each file that an operation on several files cannot change; the first sentence names the first one. */
function refusedFiles({ detail }: Refusal): string[] {
  const others = (detail?.refusals ?? []).slice(1);
  const { shown, gits } = apartFromGit(others, ({ path }) => path ?? '');
  const lines = shown.slice(0, MAX_LISTED).map((each) => firstSentence(each));
  const more = shown.length - lines.length;
  return [
    ...lines,
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(gits.length > 0 ? [`and ${GITS_OWN_FILES}`] : []),
  ];
}

/**
 * The change whose id begins with `typed`; undefined if there is none. Ends with a usage error if
 * several changes fit.
 */
export async function namedChange(records: Records, typed: string): Promise<ChangeEntry | undefined> {
  const [found, ...others] = typed.length < SHORTEST_TYPED ? [] : await records.changesNamed(typed);
  if (others.length === 0) return found;
  const ids = [found, ...others].flatMap((entry) => entry?.change ?? []);
  throw new UsageError(`${typed} fits several changes: ${ids.join(', ')}`);
}

/** The session whose id begins with `typed`. Throws if there is none, or if several fit. */
export async function namedSession<T extends string | undefined>(
  records: Records,
  typed: T,
): Promise<T | string> {
  if (typed === undefined) return typed;
  const [found = typed, ...others] = typed.length < SHORTEST_TYPED ? [] : await records.sessionsNamed(typed);
  if (others.length === 0 && (await records.lacksSession(found))) throw new UnknownSession(typed);
  if (others.length === 0) return found;
  throw new UsageError(`${typed} fits several sessions: ${[found, ...others].join(', ')}`);
}

/** A shorter beginning of an id is more likely a mistake. */
const SHORTEST_TYPED = 4;

/** Reports that something the user named does not exist. */
export function tellMissing(cli: Cli, reason: string, hint?: string): Promise<ExitCode> {
  return refuseCommand(cli, ['NOT_FOUND', 'fix_argument', reason], hint);
}

/** Reports that nothing is known of a session that the user named. */
export function tellNoSession(cli: Cli, session: string): Promise<ExitCode> {
  return tellMissing(
    cli,
    `there is no session ${JSON.stringify(session)}`,
    'lookfirst sessions --all lists them.',
  );
}

/**
 * Refuses a command that changes records if `--read-only` is given. Returns the exit code of the
 * refusal, or undefined if the command may continue.
 */
export async function refuseReadOnly(cli: Cli): Promise<ExitCode | undefined> {
  if (cli.flags.readOnly !== true) return undefined;
  return refuseCommand(cli, [
    'READ_ONLY',
    'fix_argument',
    'nothing was changed, because --read-only is given',
  ]);
}

/** The text of a refusal. If the refusal concerns no file, only its reason is shown. */
function sentence(refusal: Refusal): string {
  const { code, path, action, detail } = refusal;
  if (action === 'undo' || path !== '' || detail?.reason === undefined) return firstSentence(refusal);
  return `${phrase(detail.reason)} [${code}]`;
}
