import { UsageError } from '../config/flags.ts';
import type { Entry } from '../model/entry.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Records } from '../records/records.ts';
import { harmless, phrase } from '../report/bounded.ts';
import { quoted } from '../report/evidence.ts';
import { refusalOutcome } from '../report/json.ts';
import { firstSentence } from '../report/sentences.ts';
import { type Cli, EXIT, type ExitCode } from './cli.ts';

/** The next step for a user who has given an unknown change id. */
export const LISTS_CHANGES = 'lookfirst log --kind change lists the changes.';

/** Prints a refusal for users, or as one line of JSON for programs. */
export async function tellRefusal(
  cli: Cli,
  refusal: Refusal,
  flags: { readonly json?: boolean | undefined; readonly hint?: string | undefined },
): Promise<void> {
  if (flags.json === true) await cli.terminal.printJson(refusalOutcome(refusal));
  else
    cli.terminal.tell(
      [
        `lookfirst: ${sentence(refusal)}`,
        ...quoted(refusal).map(harmless),
        ...refusedFiles(refusal),
        ...(flags.hint === undefined ? [] : [flags.hint]),
      ].join('\n'),
    );
}

const MAX_LISTED = 20;

/** One line for each file that an operation on several files cannot change; the first sentence names the first one. */
function refusedFiles({ detail }: Refusal): string[] {
  const others = (detail?.refusals ?? []).slice(1);
  const lines = others.slice(0, MAX_LISTED).map((each) => firstSentence(each));
  const more = others.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/**
 * The change whose id begins with `typed`; undefined if there is none. Ends with a usage error if
 * several changes fit.
 */
export async function namedChange(records: Records, typed: string): Promise<Entry | undefined> {
  const [found, ...others] = typed.length < SHORTEST_TYPED ? [] : await records.changesNamed(typed);
  if (others.length === 0) return found;
  const ids = [found, ...others].flatMap((entry) => entry?.change ?? []);
  throw new UsageError(`${typed} fits several changes: ${ids.join(', ')}`);
}

/** A shorter beginning of an id is more likely a mistake. */
const SHORTEST_TYPED = 4;

/** Reports that something the user named does not exist. */
export async function tellMissing(
  cli: Cli,
  reason: string,
  flags: Parameters<typeof tellRefusal>[2],
): Promise<ExitCode> {
  const refusal = { code: 'NOT_FOUND', action: 'status', path: '', next: 'fix_argument' } as const;
  await tellRefusal(cli, { ...refusal, detail: { reason } }, flags);
  return EXIT.refused;
}

/**
 * Refuses a command that changes records if `--read-only` is given. Returns the exit code of the
 * refusal, or undefined if the command may continue.
 */
export async function refuseReadOnly(
  cli: Cli,
  { json, readOnly }: { readonly json?: boolean | undefined; readonly readOnly?: boolean | undefined },
): Promise<ExitCode | undefined> {
  if (readOnly !== true) return undefined;
  const detail = { reason: 'nothing was changed, because --read-only is given' };
  const refusal = { code: 'READ_ONLY', action: 'status', path: '', next: 'fix_argument', detail } as const;
  await tellRefusal(cli, refusal, { json });
  return EXIT.refused;
}

/** The text of a refusal. If the refusal concerns no file, only its reason is shown. */
function sentence(refusal: Refusal): string {
  const { code, path, action, detail } = refusal;
  if (action === 'undo' || path !== '' || detail?.reason === undefined) return firstSentence(refusal);
  return `${phrase(detail.reason)} [${code}]`;
}
