import { Command, InvalidArgumentError } from 'commander';
import { dropRetained, type RetainedFile } from '../../disk/retained.ts';
import { type LateWrite, noteLateWrites } from '../../gate/late-writes.ts';
import { oldLeftovers } from '../../gate/leftovers.ts';
import type { World } from '../../gate/world.ts';
import { collectGarbage } from '../../journal/gc.ts';
import { type GcLimits, type GcPlan, planGc } from '../../journal/gc-plan.ts';
import { pathText } from '../../report/bounded.ts';
import { byteSize } from '../../report/byte-size.ts';
import { parseBytes } from '../byte-amount.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, durationParser, unusedSessionOption } from '../flags.ts';
import { openWorkspace } from '../open-workspace.ts';
import { Progress } from '../progress.ts';
import type { StateFlags } from '../settings.ts';
import { type StateSize, sizeOf } from '../state-size.ts';
import { count } from '../words.ts';

interface GcFlags extends StateFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly olderThan?: number;
  readonly quota?: number;
}

/** `lookfirst gc`: what is too old or too much goes, of every workspace on this machine. */
export function defineGc(cli: Cli): Command {
  const command = new Command('lookfirst gc').description(
    'Removes journal entries older than the retention, before-images over the quota, and sessions nobody uses, ' +
      'of every workspace on this machine. What it removes can no longer be undone.',
  );
  return addCommonFlags(command)
    .addOption(unusedSessionOption())
    .option('--dry-run', 'say what would go and remove nothing')
    .option('--older-than <time>', "retention instead of the policy file's, as in 30d", ageParser)
    .option('--quota <size>', "room for before-images instead of the policy file's, as in 500MB", sizeParser)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: GcFlags) => cli.end(await gc(cli, flags)));
}

const EXAMPLES = `
Examples:
  lookfirst gc --dry-run
  lookfirst gc --older-than 7d
  lookfirst gc --quota 200MB --json`;

function sizeParser(text: string): number {
  const bytes = parseBytes(text);
  if (bytes === undefined) throw new InvalidArgumentError('Use a size, as in 500MB or 1GB.');
  return someLimit(bytes);
}

function ageParser(text: string): number {
  return someLimit(durationParser(text));
}

/** In a policy file 0 means that there is no limit; whoever types it here hopes for the opposite. */
function someLimit(limit: number): number {
  if (limit === 0) throw new InvalidArgumentError('0 is no limit: it would keep everything.');
  return limit;
}

async function gc(cli: Cli, flags: GcFlags): Promise<ExitCode> {
  const sessions = await openWorkspace(cli, flags, [cli.cwd]);
  const progress = new Progress(cli.terminal);
  try {
    const { world } = sessions;
    const limits = limitsOf(world, flags);
    const before = await sizeOf(world);
    // First, while the entries that name the files are there.
    const late = flags.dryRun === true ? [] : await noteLateWrites(world, {});
    const plan = await planGc(world, limits, cli.nowMs);
    const leftovers = await leftoversOf(world, limits, cli.nowMs);
    if (flags.dryRun === true) return await report(cli, flags, { before, plan, late, leftovers });
    const done = await collectGarbage(world, plan, (step) =>
      progress.update(step.phase, step.done, step.total),
    );
    for (const leftover of leftovers) dropRetained(leftover);
    progress.end();
    const gone = { entries: done.entries, sessions: done.sessions, images: done.images };
    return await report(cli, flags, { before, gone, late, leftovers, after: await sizeOf(world) });
  } finally {
    progress.end();
    await sessions.close();
  }
}

function limitsOf(world: World, flags: GcFlags): GcLimits {
  const { journal, sessionIdleMs } = world.policy;
  return {
    retentionMs: flags.olderThan ?? journal.retentionMs,
    quotaBytes: flags.quota ?? journal.quotaBytes,
    sessionIdleMs,
  };
}

function leftoversOf(
  world: World,
  { retentionMs }: GcLimits,
  nowMs: number,
): Promise<readonly RetainedFile[]> {
  if (retentionMs === 0) return Promise.resolve([]);
  return oldLeftovers(world, { olderThanMs: retentionMs, nowMs });
}

interface Outcome {
  readonly before: StateSize;
  /** Of a dry run. */
  readonly plan?: GcPlan;
  readonly gone?: { readonly entries: number; readonly sessions: number; readonly images: GcPlan['frees'] };
  /** What other programs wrote into files that had been replaced, found by this run. */
  readonly late: readonly LateWrite[];
  readonly leftovers: readonly RetainedFile[];
  readonly after?: StateSize;
}

async function report(cli: Cli, flags: GcFlags, outcome: Outcome): Promise<ExitCode> {
  const { plan, before, after, late } = outcome;
  const gone = outcome.gone ?? {
    entries: plan?.entries ?? 0,
    sessions: plan?.sessions.length ?? 0,
    images: plan?.frees ?? { count: 0, bytes: 0 },
  };
  const leftovers = {
    count: outcome.leftovers.length,
    bytes: outcome.leftovers.reduce((sum, file) => sum + file.size, 0),
  };
  const dryRun = plan !== undefined;
  if (flags.json === true) {
    await cli.terminal.print(
      JSON.stringify({ dryRun, removed: { ...gone, leftovers }, late, before, after }),
    );
    return EXIT.done;
  }
  await cli.terminal.print(
    [
      `${dryRun ? 'would remove' : 'removed'} ${count(gone.entries, 'entry')}, ` +
        `${count(gone.images.count, 'kept image')} (${byteSize(gone.images.bytes)}), ` +
        `${count(leftovers.count, 'leftover')} (${byteSize(leftovers.bytes)}), ${count(gone.sessions, 'session')}`,
      `before  ${sizeText(before)}`,
      ...(after === undefined ? [] : [`after   ${sizeText(after)}`]),
      ...late.map(lateText),
    ].join('\n'),
  );
  return EXIT.done;
}

function lateText({ path, kept }: LateWrite): string {
  return `another program wrote to ${pathText(path)} after it was replaced; that is kept at ${pathText(kept)}`;
}

function sizeText({ entries, storeBytes, images }: StateSize): string {
  return `${count(entries, 'entry')} (${byteSize(storeBytes)}), ${count(images.count, 'kept image')} (${byteSize(images.bytes)})`;
}
