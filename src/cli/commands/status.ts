import { Command } from 'commander';
import { canonicalPath } from '../../records/canonical-path.ts';
import { Records } from '../../records/records.ts';
import { Scope } from '../../records/scope.ts';
import { type Surroundings, surroundings } from '../../records/status-views.ts';
import { openWorkspace, placesOf, type StateFlags } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, addScopeFlags, type ScopeFlags } from '../flags.ts';
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
  const { home } = placesOf(cli, flags);
  const scope = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all });
  const { sessions: records, roots } = await lookAround(cli, scope, flags);
  if (records.length === 0 && roots.length === 0) {
    if (flags.json !== true) cli.terminal.tell('nothing recorded here yet (--all shows every workspace)');
    return EXIT.done;
  }
  const existing = roots.filter((root) => canonicalPath(cli.cwd, root).kind === 'folder');
  const sessions = await openWorkspace(cli, flags, existing.length === 0 ? [cli.cwd] : existing);
  const json = flags.json === true;
  const session = flags.session ?? cli.env['LOOKFIRST_SESSION'];
  try {
    if (path !== undefined) return await fileReport(cli, sessions, { path, records, session, json });
    if (session) return await sessionReport(cli, sessions, { session, json });
    return await overview(cli, sessions, { records, scope, home, json });
  } finally {
    await sessions.close();
  }
}

async function lookAround(cli: Cli, scope: Scope, flags: StatusFlags): Promise<Surroundings> {
  const records = await Records.open(placesOf(cli, flags));
  try {
    return await surroundings(records, scope);
  } finally {
    await records.close();
  }
}
