import { resolve } from 'node:path';
import { text, toggle } from '../../config/flags.ts';
import { requiredHome } from '../../config/home.ts';
import { type ObservedRefusal, observedRefusals } from '../../records/judged-refusals.ts';
import { canonicalPath } from '../../records/scope.ts';
import { auditTranscripts } from '../../records/transcripts.ts';
import { countOf } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { entryPath, PATH_COLUMN, printList, SESSION_COLUMN, shownPath, whenColumn } from '../columns.ts';
import { limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { chosenScope, withRecords } from '../with-records.ts';

type AuditedTranscript = Awaited<ReturnType<typeof auditTranscripts>>[number];
type TranscriptFinding = AuditedTranscript['audit']['findings'][number];

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  observed: toggle('instead, show what hooks would have refused in observe mode (mode: observe)'),
  session: text('ID', 'with --observed: only calls of this session'),
  limit: limit(20),
} as const;

/** `lookfirst audit`: reports what went wrong in the stored conversations of this user's clients. */
export const AUDIT: CliCommand = defineCommand({
  about:
    'Counts blind overwrites, outdated edits, shell writes and destructive commands in your Claude Code, Codex and Gemini CLI transcripts. With --observed: what hooks would have refused, and whether that would have been right.',
  args: { dir: text('DIR', 'only files in this folder (default: the current one)') },
  flags: FLAGS,
  notes: `
You don't need to install anything, and nothing is changed. Only what a transcript proves is
counted:
  blind overwrite   a whole file was replaced, although some of its lines had never been shown
  outdated edit     the file had changed since the model last saw it
  shell write       a command wrote the file; the client's own rewind can't restore it
  destroying        a command ran that destroys work, if there is any, such as git reset
                    --hard or rm -rf; no transcript proves whether something was lost

The verdicts of --observed:
  right     the call destroyed something its session hadn't seen
  wrong     it destroyed nothing, so the refusal would have been a false alarm
  unknown   no change followed, or its bytes are gone

Examples:
  lookfirst audit
  lookfirst audit ~/project --json
  lookfirst audit --observed --json | jq 'select(.verdict == "wrong")'`,
  run: async (cli, { dir, ...flags }) => {
    const { root = [] } = flags;
    const folders = dir === undefined ? root : [dir, ...root];
    if (flags.observed === true)
      return showObserved({ ...cli, flags: { ...cli.flags, root: folders } }, flags.limit);
    for (const each of folders.length === 0 ? ['.'] : folders) await auditFolder(cli, resolve(cli.cwd, each));
    return EXIT.done;
  },
});

async function auditFolder(cli: Cli, root: string): Promise<void> {
  if (canonicalPath(cli.cwd, root).kind !== 'folder')
    cli.terminal.tell(`there is no folder ${pathText(root)} now; its transcripts may still exist`);
  const audited = await auditAll(cli, root);
  await (cli.flags.json === true ? printJson(cli, audited) : printTable(cli, audited, root));
}

function auditAll(cli: Cli, root: string): Promise<readonly AuditedTranscript[]> {
  const places = { home: requiredHome(cli.homeFolder), env: cli.env };
  return auditTranscripts(places, root, (path, reason) =>
    cli.terminal.tell(`left out ${pathText(path)}: ${reason}`),
  );
}

async function printJson(cli: Cli, audited: readonly AuditedTranscript[]): Promise<void> {
  for (const { client, path: transcript, audit } of audited) {
    const { format, changes, commands, findings } = audit;
    const line = { type: 'transcript', client, transcript, format, changes, commands, ...tally(findings) };
    await cli.terminal.printJson(line);
    for (const finding of findings)
      await cli.terminal.printJson({ type: 'finding', client, transcript, ...finding });
  }
}

const MAX_FINDINGS = 20;

async function printTable(cli: Cli, audited: readonly AuditedTranscript[], root: string): Promise<void> {
  await cli.terminal.print(`${countOf(audited.length, 'conversation')} changed files in ${pathText(root)}`);
  if (audited.length === 0) return;
  const clients = [...new Set(audited.map(({ client }) => client))].map((client) => {
    const own = audited.filter((one) => one.client === client).map(({ audit }) => audit);
    const sum = (key: 'changes' | 'commands') => own.reduce((total, audit) => total + audit[key], 0);
    const counts = { conversations: own.length, changes: sum('changes'), commands: sum('commands') };
    return { client, counts: { ...counts, ...tally(own.flatMap(({ findings }) => findings)) } };
  });
  const columns = ['conversations', 'changes', 'commands', ...Object.keys(COUNTED)].map((key) => ({
    title: key.replace(/[A-Z]/g, ' $&').toUpperCase(),
    cell: ({ counts }: { readonly counts: Readonly<Record<string, number>> }) => String(counts[key]),
  }));
  await cli.terminal.printTable([{ title: 'CLIENT', cell: ({ client }) => client }, ...columns], clients);
  const findings = audited.flatMap(({ client, audit }) =>
    audit.findings.map((finding) => ({ client, ...finding })),
  );
  if (findings.length === 0) return;
  await printDestroying(cli, findings);
  const newest = findings.sort((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0)).slice(-MAX_FINDINGS);
  await cli.terminal.print(`\nthe latest ${newest.length} of ${findings.length} (--json shows all)`);
  await cli.terminal.printTable(
    [
      {
        title: 'WHAT',
        cell: (found) => (found.kind === 'destroying-command' ? found.command : found.kind.replace('-', ' ')),
      },
      { ...PATH_COLUMN, cell: ({ path }) => shownPath(cli, path) },
      whenColumn(cli),
      { title: 'CLIENT', cell: ({ client }) => client },
    ],
    newest,
  );
}

const MAX_DESTROYING = 10;

/** Prints how often each destroying command ran, the most frequent ones first. */
async function printDestroying(cli: Cli, findings: readonly TranscriptFinding[]): Promise<void> {
  const groups = new Map<string, { readonly words: string; count: number }>();
  for (const finding of findings) {
    if (finding.kind !== 'destroying-command') continue;
    const words = `${pathText(finding.command)} (${finding.work})`;
    const group = groups.get(words) ?? { words, count: 0 };
    group.count += 1;
    groups.set(words, group);
  }
  if (groups.size === 0) return;
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count);
  await cli.terminal.print(
    '\ncommands that destroy work if there is some; transcripts do not show whether there was',
  );
  for (const { count, words } of sorted.slice(0, MAX_DESTROYING))
    await cli.terminal.print(`  ${count} × ${words}`);
  if (sorted.length > MAX_DESTROYING)
    await cli.terminal.print(`  and ${countOf(sorted.length - MAX_DESTROYING, 'other command')}`);
}

/** The kinds of findings that are counted, by the names of the counts. */
const COUNTED: Readonly<Record<string, TranscriptFinding['kind']>> = {
  blindOverwrites: 'blind-overwrite',
  outdatedEdits: 'outdated-edit',
  shellWrites: 'shell-write',
  destroyingCommands: 'destroying-command',
};

function tally(findings: readonly TranscriptFinding[]): Readonly<Record<string, number>> {
  const counts = Object.entries(COUNTED).map(([name, counted]) => [
    name,
    findings.filter(({ kind }) => kind === counted).length,
  ]);
  return Object.fromEntries(counts);
}

/**
 * Lists what hooks would have refused while the policy only observed (`mode: observe`), and whether
 * each refusal would have been right.
 */
async function showObserved(cli: Cli, limit: number): Promise<ExitCode> {
  const { filter } = chosenScope(cli);
  const { session } = cli.flags;
  const found = await withRecords(cli, async (records) => {
    const all: ObservedRefusal[] = [];
    for await (const each of observedRefusals(
      records,
      session === undefined ? filter : { ...filter, session },
    ))
      all.push(each);
    return all;
  });
  const count = (verdict: ObservedRefusal['verdict']) =>
    `${found.filter((each) => each.verdict === verdict).length} ${verdict}`;
  const summary = `${countOf(found.length, 'call')} would have been refused: ${count('right')}, ${count('wrong')}, ${count('unknown')}`;
  if (cli.flags.json !== true) await cli.terminal.print(summary);
  if (found.length === 0) return EXIT.done;
  return printList(cli, {
    rows: (limit === 0 ? found : found.slice(0, limit)).map((each) => ({ ...each.refusal, ...each })),
    columns: [
      { title: 'CODE', cell: ({ code = '' }) => code },
      { ...PATH_COLUMN, cell: (row) => entryPath(cli, row) },
      whenColumn(cli),
      SESSION_COLUMN,
      { title: 'VERDICT', cell: ({ verdict }) => verdict },
    ],
    json: ({ atMs, session, turn, root, path, code, action, verdict, change }) => ({
      at: new Date(atMs).toISOString(),
      ...{ session, turn, root, path, code, action, verdict, change },
    }),
    none: '',
  });
}
