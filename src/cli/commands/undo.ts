import { Command } from 'commander';
import { Fault } from '../../model/fault.ts';
import type { Refusal } from '../../model/verdict.ts';
import { canonicalPath } from '../../records/canonical-path.ts';
import { Records } from '../../records/records.ts';
import { type TakenBack, takeBack } from '../../records/take-back.ts';
import { type UndoJob, undoJobs } from '../../records/undo-jobs.ts';
import { openWorkspace, placesOf, type StateFlags } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, addScopeFlags, entryRequest, type FilterFlags, sinceOption } from '../flags.ts';
import { tellRefusal } from '../refusal-text.ts';
import { previewText, undoneText } from '../undo-text.ts';
import { count } from '../words.ts';

interface Flags extends Pick<FilterFlags, 'root' | 'all' | 'path' | 'session' | 'since'>, StateFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly merge?: boolean;
  readonly yes?: boolean;
}

/** `lookfirst undo`: takes recorded changes back, through the gate. */
export function defineUndo(cli: Cli): Command {
  const command = new Command('lookfirst undo')
    .description(
      'Takes recorded changes back. Nothing that was not recorded is touched, and an undo can be undone.',
    )
    .argument('[change]', 'id of a change, from lookfirst log; default: the newest here that still stands');
  return addCommonFlags(addScopeFlags(command))
    .option('--path <file>', 'only what was done to this file')
    .option('--session <id>', 'everything this session did')
    .addOption(sinceOption(cli))
    .option('--dry-run', 'show what would happen and change nothing')
    .option('--merge', 'carry later changes by others over instead of refusing')
    .option('--yes', 'do not ask')
    .addHelpText('after', EXAMPLES)
    .action(async (change: string | undefined, flags: Flags) => {
      if (flags.path !== undefined && canonicalPath(cli.cwd, flags.path).kind === 'folder')
        command.error(`error: ${flags.path} is a folder; name a file, a change, a session or a time`);
      cli.end(await undo(cli, change, flags));
    });
}

const EXAMPLES = `
On a terminal it asks before it takes back more than one change. If a file was changed since, it refuses
with the difference and ends with 2; --merge keeps both where they do not overlap.
If LOOKFIRST_SESSION is set, the newest change is that session's.

Examples:
  lookfirst undo --dry-run               what would be taken back
  lookfirst undo                         the newest change here
  lookfirst undo c0a1b2c3d4e             that change (of an undo: does it again)
  lookfirst undo --path src/a.ts         the newest change of that file
  lookfirst undo --session agent-7 --since 2h`;

async function undo(cli: Cli, change: string | undefined, flags: Flags): Promise<ExitCode> {
  const jobs = await jobsFor(cli, change, flags);
  if (jobs.length === 0) return refuse(cli, nothingToUndo(change), flags);
  let worst: ExitCode = EXIT.done;
  for (const job of jobs) {
    const code = await undoJob(cli, job, flags).catch((error: unknown) => tellFault(cli, error));
    if (code !== EXIT.done) worst = code;
  }
  return worst;
}

/** Reports the fault of one workspace, which may be gone; the others are still undone. */
function tellFault(cli: Cli, error: unknown): ExitCode {
  if (!(error instanceof Fault)) throw error;
  cli.terminal.tell(`lookfirst: ${error.message} [${error.code}]`);
  return EXIT.fault;
}

async function jobsFor(cli: Cli, change: string | undefined, flags: Flags): Promise<UndoJob[]> {
  const records = await Records.open(placesOf(cli, flags));
  try {
    const newestOf = cli.env['LOOKFIRST_SESSION'] || undefined;
    return await undoJobs(records, { ...entryRequest(cli, flags), change, newestOf });
  } finally {
    await records.close();
  }
}

async function undoJob(cli: Cli, job: UndoJob, flags: Flags): Promise<ExitCode> {
  const sessions = await openWorkspace(cli, flags, job.roots);
  const selection = { ...job.selection, ...(flags.merge === true ? { merge: true } : {}) };
  try {
    const preview = await takeBack(sessions, { ...selection, preview: true });
    if (!preview.ok) return await refuse(cli, preview.refusal, flags);
    if (isDryRun(flags)) return await show(cli, preview.taken, flags);
    if (!(await isMeant(cli, preview.taken, flags))) return EXIT.refused;
    const outcome = await takeBack(sessions, selection);
    if (!outcome.ok) return await refuse(cli, outcome.refusal, flags);
    return await show(cli, outcome.taken, flags);
  } finally {
    await sessions.close();
  }
}

function isDryRun({ dryRun, readOnly }: Flags): boolean {
  return dryRun === true || readOnly === true;
}

/** Confirms an undo of several changes at a terminal. A single one was named, or is the newest. */
async function isMeant(cli: Cli, preview: TakenBack, flags: Flags): Promise<boolean> {
  const { length } = preview.changes;
  if (length < 2 || flags.yes === true || flags.json === true || !cli.terminal.isInteractive) return true;
  cli.terminal.tell(previewText(cli, preview));
  if (await cli.terminal.confirm(`Take back ${count(length, 'change')}?`)) return true;
  cli.terminal.tell('nothing was changed');
  return false;
}

async function show(cli: Cli, taken: TakenBack, flags: Flags): Promise<ExitCode> {
  const { change, undid, files, diff } = taken.result;
  const dryRun = isDryRun(flags);
  if (flags.json === true)
    await cli.terminal.print(
      JSON.stringify({ ok: true, dryRun, change, root: taken.root, undid, files, diff }),
    );
  else await cli.terminal.print(dryRun ? previewText(cli, taken) : undoneText(cli, taken));
  return EXIT.done;
}

async function refuse(cli: Cli, refusal: Refusal, flags: Flags): Promise<ExitCode> {
  const canMerge = refusal.code === 'STALE' && flags.merge !== true;
  const hint = canMerge
    ? 'Nothing was changed. --merge keeps both where they do not overlap.'
    : 'Nothing was changed.';
  await tellRefusal(cli, refusal, { json: flags.json, hint });
  return EXIT.refused;
}

function nothingToUndo(change: string | undefined): Refusal {
  const reason =
    change === undefined ? 'there is no change here to take back' : `there is no change ${change}`;
  return { code: 'NOT_FOUND', action: 'undo', path: '', next: 'none', detail: { reason } };
}
