import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import { verifyChain } from '../../journal/verify.ts';
import type { Entry } from '../../model/entry.ts';
import { openExistingStore } from '../../store/open-existing.ts';
import type { Store } from '../../store/store.ts';
import type { Cli } from '../cli.ts';
import { entryColumns, entryJson, entryRow } from '../entry-row.ts';
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
    .option('--follow', 'go on with what comes, until interrupted')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: LogFlags) => cli.end(await log(cli, flags)));
}

const EXAMPLES = `
A workspace counts if it is this folder, contains it or lies in it; --all takes every one.

Examples:
  lookfirst log                              the last 50 entries here
  lookfirst log --kind change,refusal --since 2h
  lookfirst log --path src --session agent-7
  lookfirst log --json --limit 0 | jq .      all of it, for programs
  lookfirst log --verify                     walk the hash chain`;

async function log(cli: Cli, flags: LogFlags): Promise<ExitCode> {
  const store = await openExistingStore(placesOf(cli, flags).store);
  try {
    if (flags.verify === true) return await verify(cli, store, flags);
    const choice = new EntryChoice(cli, flags);
    const seen = await (flags.json === true ? printJson : printTable)(cli, choice.of(store));
    if (flags.follow === true) await follow(cli, store, { flags, choice, after: seen });
    return EXIT.done;
  } finally {
    await store.close();
  }
}

/** Returns the number of the newest entry shown; 0 if there is none. */
async function printJson(cli: Cli, entries: AsyncIterable<Entry>): Promise<number> {
  let newest = 0;
  for await (const entry of entries) {
    newest = Math.max(newest, entry.seq);
    await cli.terminal.print(entryJson(entry));
  }
  return newest;
}

async function printTable(cli: Cli, entries: AsyncIterable<Entry>): Promise<number> {
  const { terminal } = cli;
  const shown: Entry[] = [];
  for await (const entry of entries) shown.push(entry);
  if (shown.length === 0) terminal.tell('nothing recorded here yet (--all shows every workspace)');
  else {
    const rows = shown.map((entry) => entryRow(entry, cli));
    await terminal.printTable(entryColumns(terminal.colours), rows);
  }
  return shown[0]?.seq ?? 0;
}

async function follow(
  cli: Cli,
  store: Store,
  from: { readonly flags: LogFlags; readonly choice: EntryChoice; readonly after: number },
): Promise<never> {
  let after = Math.max(from.after, (await store.state()).head.seq);
  for (;;) {
    await setTimeout(FOLLOW_MS);
    const head = (await store.state()).head.seq;
    if (head === after) continue;
    const news = { afterSeq: after, beforeSeq: head + 1, order: 'oldest' } as const;
    for await (const entry of from.choice.of(store, news)) {
      const line = entryRow(entry, { cwd: cli.cwd, nowMs: Date.now() }).join('  ');
      await cli.terminal.print(from.flags.json === true ? entryJson(entry) : line);
    }
    after = head;
  }
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
