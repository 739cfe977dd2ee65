import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import { verifyChain } from '../../journal/verify.ts';
import type { Entry } from '../../model/entry.ts';
import { phrase } from '../../report/bounded.ts';
import { openExistingStore } from '../../store/open-existing.ts';
import { openStore } from '../../store/open-store.ts';
import type { Store } from '../../store/store.ts';
import type { Cli } from '../cli.ts';
import { detailOf, entryColumns, entryJson, entryRow } from '../entry-row.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, addFilterFlags, kindOption, limitOption } from '../flags.ts';
import { Progress } from '../progress.ts';
import { EntryChoice, type FilterFlags } from '../select-entries.ts';
import { placesOf, type StateFlags } from '../settings.ts';

interface LogFlags extends FilterFlags, StateFlags {
  readonly json?: boolean;
  readonly verify?: boolean;
  readonly follow?: boolean;
}

const DEFAULT_LIMIT = 50;
/** How often a followed journal is asked for more. */
const FOLLOW_MS = 300;

/** `lookfirst log`: what was read, changed and refused, newest first. */
export function defineLog(cli: Cli): Command {
  const command = new Command('lookfirst log').description(
    'What was read, changed and refused in the workspaces around this folder, newest first.',
  );
  return addCommonFlags(
    addFilterFlags(command, cli).addOption(kindOption()).addOption(limitOption(DEFAULT_LIMIT)),
  )
    .option('--verify', 'check that no entry of the journal was removed or altered; ends with 1 if one was')
    .option('--follow', 'go on with what comes, until interrupted; the newest last')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: LogFlags) => cli.end(await log(cli, flags)));
}

const EXAMPLES = `
A workspace counts if it is this folder, contains it or lies in it; --all takes
every one.

Examples:
  lookfirst log                              the last 50 entries here
  lookfirst log --kind change,refusal --since 2h
  lookfirst log --path src --session agent-7
  lookfirst log --json --limit 0 | jq .      all of it, for programs
  lookfirst log --verify                     walk the hash chain`;

async function log(cli: Cli, flags: LogFlags): Promise<ExitCode> {
  // Whoever waits for what comes may wait for the first entry of all.
  const open = flags.follow === true ? openStore : openExistingStore;
  const store = await open(placesOf(cli, flags).store);
  try {
    if (flags.verify === true) return await verify(cli, store, flags);
    const { head } = await store.state();
    const entries = new EntryChoice(cli, flags).of(store, { beforeSeq: head.seq + 1 });
    const print = flags.json === true ? printJson : printTable;
    // What comes later stands below: so does what is newer of what was there.
    await print(cli, flags.follow === true ? oldestFirst(entries) : entries);
    if (flags.follow === true) await follow(cli, store, { flags, after: head.seq });
    return EXIT.done;
  } finally {
    await store.close();
  }
}

async function* oldestFirst(newestFirst: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  const entries: Entry[] = [];
  for await (const entry of newestFirst) entries.push(entry);
  yield* entries.reverse();
}

async function printJson({ terminal }: Cli, entries: AsyncIterable<Entry>): Promise<void> {
  for await (const entry of entries) await terminal.print(entryJson(entry));
}

async function printTable(cli: Cli, entries: AsyncIterable<Entry>): Promise<void> {
  const { terminal } = cli;
  const rows: string[][] = [];
  const details: (string | undefined)[] = [];
  for await (const entry of entries) {
    rows.push(entryRow(entry, cli));
    details.push(detailOf(entry));
  }
  if (rows.length === 0) terminal.tell('nothing recorded here yet (--all shows every workspace)');
  else await terminal.printTable(entryColumns(terminal.colours), rows, details);
}

async function follow(
  cli: Cli,
  store: Store,
  { flags, after: seen }: { readonly flags: LogFlags; readonly after: number },
): Promise<never> {
  // The limit is for what was there before.
  const choice = new EntryChoice(cli, { ...flags, limit: 0 });
  for (let after = seen; ; ) {
    await setTimeout(FOLLOW_MS);
    const head = (await store.state()).head.seq;
    const news = { afterSeq: after, beforeSeq: head + 1, order: 'oldest' } as const;
    if (head > after) for await (const entry of choice.of(store, news)) await printNews(cli, entry, flags);
    after = head;
  }
}

async function printNews(cli: Cli, entry: Entry, flags: LogFlags): Promise<void> {
  if (flags.json === true) return cli.terminal.print(entryJson(entry));
  const row = [...entryRow(entry, { cwd: cli.cwd, nowMs: Date.now() }), detailOf(entry) ?? ''];
  return cli.terminal.print(row.map(phrase).join('  ').trimEnd());
}

async function verify(cli: Cli, store: Store, flags: LogFlags): Promise<ExitCode> {
  const progress = new Progress(cli.terminal);
  const report = await verifyChain(store, {
    onProgress: (done, total) => progress.update('verifying', done, total),
  });
  progress.end();
  if (flags.json === true) await cli.terminal.print(JSON.stringify(report));
  else if (report.ok)
    await cli.terminal.print(`the journal is intact: ${report.entries} entries in an unbroken chain`);
  else {
    const what = report.problem === 'removed' ? 'is missing' : 'is not what was written';
    await cli.terminal.print(
      `the journal was tampered with: entry ${report.seq} ${what} (${report.problem})`,
    );
  }
  return report.ok ? EXIT.done : EXIT.fault;
}
