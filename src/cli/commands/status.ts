import { Command } from 'commander';
import type { SessionRecord } from '../../model/session-record.ts';
import { openExistingStore } from '../../store/open-existing.ts';
import { canonicalPath } from '../canonical.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, addScopeFlags } from '../flags.ts';
import { Near, type ScopeFlags } from '../near.ts';
import { openWorkspace } from '../open-workspace.ts';
import { placesOf, type StateFlags } from '../settings.ts';
import { fileReport } from '../status/file-report.ts';
import { overview } from '../status/overview.ts';
import { sessionReport } from '../status/session-report.ts';

interface StatusFlags extends ScopeFlags, StateFlags {
  readonly json?: boolean;
  readonly session?: string;
}

/** `lookfirst status`: what was seen, and whether it is still true. */
export function defineStatus(cli: Cli): Command {
  const command = new Command('lookfirst status')
    .description(
      'What sessions have seen of the files here, whether that is still true, and who changed what last.',
    )
    .argument('[path]', 'one file; default: an overview');
  return addCommonFlags(addScopeFlags(command))
    .option('--session <id>', 'the files this session has seen (LOOKFIRST_SESSION)')
    .addHelpText('after', EXAMPLES)
    .action(async (path: string | undefined, flags: StatusFlags) => cli.end(await status(cli, path, flags)));
}

const EXAMPLES = `
Examples:
  lookfirst status                       sessions and the last change here
  lookfirst status src/a.ts              who has seen this file, and is it still as they saw it?
  lookfirst status --session agent-7     what this session has seen`;

async function status(cli: Cli, path: string | undefined, flags: StatusFlags): Promise<ExitCode> {
  const { home, store: url } = placesOf(cli, flags);
  const near = new Near(cli, flags);
  const { records, roots } = await lookAround(url, near);
  if (records.length === 0 && roots.length === 0) {
    if (flags.json !== true) cli.terminal.tell('nothing recorded here yet (--all shows every workspace)');
    return EXIT.done;
  }
  const existing = roots.filter((root) => canonicalPath(cli.cwd, root).kind === 'folder');
  const sessions = await openWorkspace(cli, flags, existing.length === 0 ? [cli.cwd] : existing);
  const json = flags.json === true;
  const session = flags.session ?? cli.env['LOOKFIRST_SESSION'];
  try {
    const { world } = sessions;
    if (path !== undefined) return await fileReport(cli, world, { path, records, session, json });
    if (session) return await sessionReport(cli, world, { session, json });
    return await overview(cli, world, { records, near, home, json });
  } finally {
    await sessions.close();
  }
}

/** The sessions around, and the workspaces they or the journal know. */
async function lookAround(
  url: string,
  near: Near,
): Promise<{ readonly records: readonly SessionRecord[]; readonly roots: readonly string[] }> {
  const store = await openExistingStore(url);
  try {
    const records = (await store.sessions()).filter((record) => near.includes(record.root));
    const [newest] = await store.entries({ ...near.filter, limit: 1 });
    const roots = [...records.map((record) => record.root), ...(newest === undefined ? [] : [newest.root])];
    return { records, roots: [...new Set(roots)] };
  } finally {
    await store.close();
  }
}
