import { parsed, toggle, UsageError, type Values, words } from '../../config/flags.ts';
import { cleanUp, purge } from '../../records/clean-up.ts';
import { makeRoom } from '../../records/health.ts';
import { byteSize, countOf } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { openForCommand, placesOf } from '../../session/configured.ts';
import type { Sessions } from '../../session/sessions.ts';
import { type Cli, type CliCommand, defineCommand, type ExitCode } from '../cli.ts';
import { answer, sizeText } from '../columns.ts';
import { DURATION_HINT, parseDuration, STATE_FLAGS } from '../flags.ts';
import { refuseAgent } from '../operator.ts';
import { withRecords } from '../with-records.ts';

type CleanUpReport = Awaited<ReturnType<typeof cleanUp>>;

const FLAGS = {
  ...STATE_FLAGS,
  dryRun: toggle('show what would be removed, without removing anything'),
  olderThan: parsed(
    ['TIME', "remove entries older than this, as in 30d, instead of the policy file's retention"],
    (word) => parseDuration(word) || undefined,
    (word) => (parseDuration(word) === 0 ? NO_LIMIT : DURATION_HINT),
  ),
  quota: parsed(
    ['SIZE', "keep at most this much in before-images, as in 500MB, instead of the policy file's quota"],
    (word) => parseBytes(word) || undefined,
    (word) => (parseBytes(word) === 0 ? NO_LIMIT : 'Use a size, as in 500MB or 1GB.'),
  ),
  purge: {
    ...words(
      'PATH',
      'instead, remove every kept image of these files (without a path: of secret files), and record that in the journal',
    ),
    bare: [],
  },
} as const;

type GcFlags = Values<typeof FLAGS>;

/** In a policy file, 0 means no limit, but a user who types it here probably means the opposite. */
const NO_LIMIT = '0 means no limit, so everything would be kept.';

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 1 << 10, M: 1 << 20, G: 1 << 30, T: 2 ** 40 };

/**
 * `lookfirst gc`: removes recorded state that exceeds the limits of age and size, for every
 * workspace on this machine.
 */
export const GC: CliCommand = defineCommand({
  about:
    'Removes old journal entries, before-images over the quota, and unused sessions, for every workspace on this machine. What it removes can no longer be undone.',
  flags: FLAGS,
  notes: `
Examples:
  lookfirst gc --dry-run
  lookfirst gc --older-than 7d
  lookfirst gc --quota 200MB --json
  lookfirst gc --purge notes/keys.md
  lookfirst gc --purge                   the kept images of .env files, keys and credentials`,
  run: async (cli, given) => {
    const flags: GcFlags = given.readOnly === true ? { ...given, dryRun: true } : given;
    if (flags.purge !== undefined && (flags.olderThan !== undefined || flags.quota !== undefined))
      throw new UsageError('--purge cannot be combined with --older-than or --quota');
    return (await refuseOwnLimits(cli, flags)) ?? gc(cli, flags);
  },
});

/**
 * Refuses the command if an agent started it and sets its own limits or purges files: the agent
 * could delete the old file contents that are needed to undo its changes. Returns the exit code of
 * the refusal, or undefined if the command may continue. A dry run may always continue.
 */
async function refuseOwnLimits(cli: Cli, flags: GcFlags): Promise<ExitCode | undefined> {
  const { dryRun, purge: purged, olderThan, quota } = flags;
  if (dryRun === true) return undefined;
  if (purged !== undefined) return refuseAgent(cli, 'gc --purge');
  if (olderThan === undefined && quota === undefined) return undefined;
  return refuseAgent(cli, `gc ${olderThan === undefined ? '--quota' : '--older-than'}`);
}

async function gc(cli: Cli, flags: GcFlags): Promise<ExitCode> {
  if (flags.dryRun !== true) makeRoom(placesOf(cli, cli.flags).home);
  // Fail here on a damaged database. `openForCommand` would set it aside and begin a new one, which
  // only a server may do.
  await withRecords(cli, async () => {});
  const sessions = await openForCommand(cli, cli.flags, { roots: [cli.cwd], folders: [] });
  try {
    if (flags.purge !== undefined) return await purgePaths(cli, sessions, flags);
    const report = await cleanUp(sessions, {
      retentionMs: flags.olderThan,
      quotaBytes: flags.quota,
      dryRun: flags.dryRun === true,
      nowMs: cli.nowMs,
    });
    return await answer(cli, report, reportText(report));
  } finally {
    await sessions.close();
  }
}

async function purgePaths(
  cli: Cli,
  sessions: Sessions,
  { purge: paths = [], dryRun: isTrial }: GcFlags,
): Promise<ExitCode> {
  const dryRun = isTrial === true;
  const purged = await purge(sessions, { cwd: cli.cwd, paths, dryRun });
  const lines = purged.map(
    ({ path, images }) =>
      `${dryRun ? 'would remove' : 'removed'} ${countOf(images.count, 'kept image')} (${byteSize(images.bytes)}) of ${pathText(path)}`,
  );
  return answer(cli, { dryRun, purged }, lines.join('\n'));
}

function reportText({ dryRun, removed, before, after, late, entriesKept }: CleanUpReport): string {
  const { entries, images, leftovers, sessions, commands } = removed;
  return [
    `${dryRun ? 'would remove' : 'removed'} ${countOf(entries, 'entry')}, ` +
      `${countOf(images.count, 'kept image')} (${byteSize(images.bytes)}), ` +
      `${countOf(leftovers.count, 'leftover')} (${byteSize(leftovers.bytes)}), ${countOf(sessions, 'session')}`,
    ...(entriesKept === true
      ? ['entries of the fleet store were kept: only the owner of its schema can remove them']
      : []),
    ...commandLines(commands),
    `before  ${sizeText(before)}`,
    ...(after === undefined ? [] : [`after   ${sizeText(after)}`]),
    ...late.map(lateText),
  ].join('\n');
}

/**
 * The line about data of commands that `gc` removes: the expired writes of refused commands and
 * those of commands whose process was killed (`layers`), and expired long outputs. Empty if there
 * is none.
 */
function commandLines({ layers, outputs }: CleanUpReport['removed']['commands']): readonly string[] {
  if (layers === 0 && outputs === 0) return [];
  return [
    `of commands: kept writes of ${countOf(layers, 'refused or killed command')}, ${countOf(outputs, 'long output')}`,
  ];
}

function lateText({ path, kept }: CleanUpReport['late'][number]): string {
  return `another program wrote to the old version of ${pathText(path)} after Lookfirst replaced it; those bytes are at ${pathText(kept)}`;
}

/** Parses `500M`, `1GB` or `4096` to bytes, in powers of 1024; undefined if the text is not an amount. */
export function parseBytes(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?$/i.exec(text.trim()) ?? [];
  const factor = UNITS[unit?.toUpperCase() ?? '?'];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}
