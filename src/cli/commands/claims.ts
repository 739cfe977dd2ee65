import { text } from '../../config/flags.ts';
import { Scope } from '../../records/scope.ts';
import { claimViews } from '../../records/session-views.ts';
import { type CliCommand, defineCommand } from '../cli.ts';
import { optionalColumn, PATH_COLUMN, printList, SESSION_COLUMN, shownPath, whenColumn } from '../columns.ts';
import { SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { withRecords } from '../with-records.ts';

/** `lookfirst claims`: lists which session works on which files. */
export const CLAIMS: CliCommand = defineCommand({
  about:
    "Lists which session is working on which file, in this workspace and the repository's other worktrees.",
  flags: { ...STATE_FLAGS, ...SCOPE_FLAGS, session: text('ID', 'only this session') },
  notes: `
A change claims its file until its session's turn ends, for ten minutes at most. Other sessions get
one notice, or are refused if the policy says claims: refuse.

Examples:
  lookfirst claims                      who's working on what
  lookfirst claims --session agent-7`,
  run: async (cli, flags) => {
    const { session, root, all } = flags;
    const scope = new Scope({ cwd: cli.cwd, root, all, family: true });
    const rows = await withRecords(cli, flags, (records) =>
      claimViews(records, { scope, session, nowMs: cli.nowMs }),
    );
    return printList(cli, flags, {
      rows,
      columns: [
        whenColumn(cli),
        { ...PATH_COLUMN, cell: ({ key }) => shownPath(cli, key) },
        SESSION_COLUMN,
        { ...optionalColumn('CLIENT'), cell: ({ client = '' }) => client },
        { ...optionalColumn('TURN'), cell: ({ turn = '' }) => turn },
      ],
      json: ({ before: _, after: __, ...claim }) => ({
        ...claim,
        at: new Date(claim.atMs).toISOString(),
        until: new Date(claim.untilMs).toISOString(),
      }),
      none: 'no session works here now (--all shows every workspace)',
    });
  },
});
