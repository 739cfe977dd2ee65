import { Command } from 'commander';
import { undo as undoThroughGate } from '../../gate/undo/undo.ts';
import type { World } from '../../gate/world.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { Fault } from '../../model/fault.ts';
import type { UndoResult } from '../../model/results.ts';
import type { UndoSelection } from '../../model/session.ts';
import type { Outcome, Refusal } from '../../model/verdict.ts';
import { openExistingStore } from '../../store/open-existing.ts';
import { canonicalPath } from '../canonical.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, addScopeFlags, sinceOption } from '../flags.ts';
import { openWorkspace } from '../open-workspace.ts';
import { tellRefusal } from '../refusal-text.ts';
import { placesOf, type StateFlags } from '../settings.ts';
import { type UndoFlags, type UndoJob, undoJobs } from '../undo-jobs.ts';
import { previewText, undoneText } from '../undo-text.ts';
import { count } from '../words.ts';

interface Flags extends UndoFlags, StateFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly merge?: boolean;
  readonly yes?: boolean;
}

/** Whom the journal names: a person at a terminal, who has no sightings to keep. */
const WHO = 'command-line';

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

/** One workspace that cannot be worked in, because it is gone perhaps, does not keep the others from being put right. */
function tellFault(cli: Cli, error: unknown): ExitCode {
  if (!(error instanceof Fault)) throw error;
  cli.terminal.tell(`lookfirst: ${error.message} [${error.code}]`);
  return EXIT.fault;
}

async function jobsFor(cli: Cli, change: string | undefined, flags: Flags): Promise<UndoJob[]> {
  const store = await openExistingStore(placesOf(cli, flags).store);
  try {
    return await undoJobs(cli, store, { change, flags });
  } finally {
    await store.close();
  }
}

async function undoJob(cli: Cli, job: UndoJob, flags: Flags): Promise<ExitCode> {
  const sessions = await openWorkspace(cli, flags, job.roots);
  const { world } = sessions;
  const selection = { ...job.selection, ...(flags.merge === true ? { merge: true } : {}) };
  try {
    const preview = await run(world, { ...selection, preview: true });
    if (!preview.ok) return await refuse(cli, preview.refusal, flags);
    if (isDryRun(flags)) return await show(cli, world, { result: preview, flags });
    if (!(await isMeant(cli, world, { result: preview, flags }))) return EXIT.refused;
    const outcome = await run(world, selection);
    if (!outcome.ok) return await refuse(cli, outcome.refusal, flags);
    return await show(cli, world, { result: outcome, flags });
  } finally {
    await world.store.record({ forget: [{ session: WHO }] });
    await sessions.close();
  }
}

function isDryRun({ dryRun, readOnly }: Flags): boolean {
  return dryRun === true || readOnly === true;
}

function run(world: World, selection: UndoSelection): Promise<Outcome<UndoResult>> {
  const { store, policy } = world;
  return undoThroughGate(world, new Ledger({ store, session: WHO, policy }), selection);
}

interface Shown {
  readonly result: UndoResult;
  readonly flags: Flags;
}

/** One change was asked for by its name or is the newest; of several a person should know which. */
async function isMeant(cli: Cli, world: World, { result, flags }: Shown): Promise<boolean> {
  const { length } = result.undid;
  if (length < 2 || flags.yes === true || flags.json === true || !cli.terminal.isInteractive) return true;
  cli.terminal.tell(await previewText(cli, world, result));
  if (await cli.terminal.confirm(`Take back ${count(length, 'change')}?`)) return true;
  cli.terminal.tell('nothing was changed');
  return false;
}

async function show(cli: Cli, world: World, { result, flags }: Shown): Promise<ExitCode> {
  const { change, undid, files, diff } = result;
  const dryRun = isDryRun(flags);
  if (flags.json === true)
    await cli.terminal.print(
      JSON.stringify({ ok: true, dryRun, change, root: world.workspace.roots[0], undid, files, diff }),
    );
  else {
    const text = dryRun ? await previewText(cli, world, result) : undoneText(cli, world, result);
    await cli.terminal.print(text);
  }
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
