import { resolve } from 'node:path';
import { type FlagsOf, toggle } from '../config/flags.ts';
import type { Entry } from '../model/entry.ts';
import { defined } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { changeOfPath } from '../records/entry-words.ts';
import { Scope } from '../records/scope.ts';
import { couldMerge, type TakenBack, takeBack, type UndoJob } from '../records/undo-jobs.ts';
import { countOf } from '../report/amounts.ts';
import { harmless, jsonText, phrase } from '../report/bounded.ts';
import { apartFromGit, GITS_OWN_FILES } from '../report/git-files.ts';
import { paintDiff } from '../report/human.ts';
import { openForCommand, type StateFlags } from '../session/configured.ts';
import { type Cli, EXIT, type ExitCode } from './cli.ts';
import { entryPath, shownPath } from './columns.ts';
import type { Reach } from './operator.ts';
import { LISTS_CHANGES, tellRefusal } from './refusal-text.ts';

interface OwnFlags {
  readonly dryRun?: boolean;
  readonly merge?: boolean;
  readonly partial?: boolean;
  readonly yes?: boolean;
}

/** Flags of the commands that undo changes: `undo` and `rewind`. */
export const UNDO_FLAGS: FlagsOf<OwnFlags> = {
  dryRun: toggle('show what would happen, without changing anything'),
  merge: toggle('merge with later changes by others instead of refusing'),
  partial: toggle("leave out files that can't be brought back, and name them, instead of refusing"),
  yes: toggle("don't ask for confirmation"),
};

type UndoFlags = OwnFlags & StateFlags & { readonly root?: readonly string[]; readonly json?: boolean };

/** The properties in which the commands `undo` and `rewind` differ. */
interface UndoManner {
  /** At a terminal, the user must confirm if at least this many changes would be undone. */
  readonly askFrom: number;
  /** Additional fields of the answer with `--json`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The text about the result, for the user. */
  text(taken: TakenBack): string;
}

/** The job, without what only the user brings back if an agent started the command. */
export function withinReach(job: UndoJob, reach: Pick<Reach, 'all'>): UndoJob {
  return reach.all ? job : { ...job, selection: { ...job.selection, within: 'workspace' } };
}

/**
 * Undoes the changes of a job and prints the result. For at least `askFrom` changes at a terminal,
 * first shows a preview and asks the user. A dry run only prints the preview.
 */
export async function runUndoJob(
  cli: Cli,
  job: UndoJob,
  { flags, manner }: { readonly flags: UndoFlags; readonly manner: UndoManner },
): Promise<ExitCode> {
  const { folders = [] } = new Scope({ cwd: cli.cwd, root: flags.root });
  const sessions = await openForCommand(cli, flags, { roots: job.roots, folders });
  const { merge, partial } = flags;
  const selection = { ...job.selection, ...defined({ merge, partial }) };
  const dryRun = flags.dryRun === true || flags.readOnly === true;
  const show = async (taken: TakenBack): Promise<ExitCode> => {
    const text = dryRun ? previewText(cli, taken) : manner.text(taken);
    await cli.terminal.print(flags.json === true ? json(taken, { dryRun, ...manner.fields }) : text);
    return EXIT.done;
  };
  const refuse = async (refusal: Refusal): Promise<ExitCode> => {
    const canMerge = flags.json !== true && (await couldMerge(sessions, refusal, selection));
    return refuseUndo(cli, refusal, { json: flags.json, canMerge });
  };
  try {
    const preview = await takeBack(sessions, { ...selection, preview: true });
    if (!preview.ok) return await refuse(preview.refusal);
    if (dryRun) return await show(preview.taken);
    // Say what stays as it is before anything is changed.
    if (flags.json !== true) for (const text of leftLines(cli, preview.taken)) cli.terminal.tell(text);
    if (!(await isMeant(cli, preview.taken, { flags, manner }))) return EXIT.refused;
    const outcome = await takeBack(sessions, selection);
    return await (outcome.ok ? show(outcome.taken) : refuse(outcome.refusal));
  } finally {
    await sessions.close();
  }
}

function json({ result, root }: TakenBack, fields: object): string {
  const { change, undid, files, left, diff } = result;
  return jsonText({ ok: true, ...fields, change, root, undid, files, left, diff });
}

async function isMeant(
  cli: Cli,
  preview: TakenBack,
  { flags, manner }: { readonly flags: UndoFlags; readonly manner: UndoManner },
): Promise<boolean> {
  const { length } = preview.changes;
  if (length < manner.askFrom || flags.yes === true || flags.json === true) return true;
  if (!cli.terminal.isInteractive) return true;
  cli.terminal.tell(previewText(cli, preview));
  if (await cli.terminal.confirm(`Take back ${countOf(length, 'change')}?`)) return true;
  cli.terminal.tell('nothing was changed');
  return false;
}

export async function refuseUndo(
  cli: Cli,
  refusal: Refusal,
  { json, canMerge }: { readonly json?: boolean | undefined; readonly canMerge?: boolean },
): Promise<ExitCode> {
  const { code, next, detail } = refusal;
  const isUnknown = code === 'NOT_FOUND' && next === 'fix_argument' && detail?.refusals === undefined;
  const hints = [
    'Nothing was changed.',
    ...(canMerge ? ['--merge undoes the change and keeps later changes to other lines.'] : []),
    ...(detail?.restorable === undefined ? [] : [partialHint(detail.restorable)]),
    ...(isUnknown ? [LISTS_CHANGES] : []),
  ];
  return tellRefusal(cli, refusal, { json, hint: hints.join(' ') });
}

function partialHint(files: number): string {
  return `--partial brings back the other ${countOf(files, 'file').replace(/^1 /, '')}.`;
}

const MAX_LISTED = 20;

/** The text of the preview of an undo: the changes, files and lines it concerns. */
function previewText(cli: Cli, taken: TakenBack): string {
  const { result, changes } = taken;
  const lines = [`would take back ${countOf(result.undid.length, 'change')}:`];
  for (const entry of changes.slice(0, MAX_LISTED)) lines.push(`  ${changeLine(cli, entry)}`);
  const more = changes.length - MAX_LISTED;
  if (more > 0) lines.push(`  and ${more} more`);
  lines.push('the files would be:', ...fileLines(cli, taken), ...leftLines(cli, taken));
  if (result.diff !== undefined) lines.push(paintDiff(harmless(result.diff), cli.terminal.colours));
  return lines.join('\n');
}

/** The text about the result of an undo, for users. */
export function undoneText(cli: Cli, taken: TakenBack): string {
  const { change, undid } = taken.result;
  const again = change === undefined ? [] : [`lookfirst undo ${change} reverts this undo`];
  return [`took back ${countOf(undid.length, 'change')}:`, ...fileLines(cli, taken), ...again].join('\n');
}

/** The text about the result of a rewind, for users. */
export function rewoundText(cli: Cli, taken: TakenBack, turn: string): string {
  const { change, undid } = taken.result;
  const again = change === undefined ? [] : ['lookfirst undo takes the rewind back'];
  const first = `returned to the beginning of turn ${phrase(turn)}: took back ${countOf(undid.length, 'change')}:`;
  return [first, ...fileLines(cli, taken), ...again].join('\n');
}

function changeLine(cli: Cli, entry: Entry): string {
  const changed = changeOfPath(entry, entryPath(cli, entry));
  return `${entry.change}  ${changed} by ${entry.session}, ${cli.age(entry.atMs)}`;
}

/** The files that a partial undo cannot restore, with the reasons. Empty if it restores all. */
function leftLines(cli: Cli, { root, result: { left = [] } }: TakenBack): string[] {
  if (left.length === 0) return [];
  const line = ({ path, code, reason }: (typeof left)[number]): string =>
    `  ${shownPath(cli, resolve(root, path))}  ${phrase(reason)} [${code}]`;
  return [['cannot bring back:', ...listed(left, line)].join('\n')];
}

function fileLines(cli: Cli, { root, result: { files } }: TakenBack): string[] {
  return listed(files, ({ path, did }) => `  ${did.padEnd(10)}  ${shownPath(cli, resolve(root, path))}`);
}

/** At most `MAX_LISTED` lines for files, and one for the rest and git's own files. */
function listed<T extends { readonly path: string }>(
  files: readonly T[],
  line: (file: T) => string,
): string[] {
  const { shown, gits } = apartFromGit(files, ({ path }) => path);
  const lines = shown.slice(0, MAX_LISTED).map(line);
  const more = shown.length - lines.length;
  const rest = [...(more > 0 ? [`${more} more`] : []), ...(gits.length > 0 ? [GITS_OWN_FILES] : [])];
  return rest.length > 0 ? [...lines, `  and ${rest.join(', and ')}`] : lines;
}
