import { required, toggle, type Values, words } from '../../config/flags.ts';
import { agentTrace, type Blame, type BlamedLine, blame } from '../../records/blame.ts';
import { harmless, pathText, phrase } from '../../report/bounded.ts';
import { policyOf } from '../../session/configured.ts';
import {
  type Cli,
  type CliCommand,
  defineCommand,
  EXIT,
  type ExitCode,
  type TimeText,
  version,
} from '../cli.ts';
import { STATE_FLAGS } from '../flags.ts';
import { tellRefusal } from '../refusal-text.ts';
import { withRecords } from '../with-records.ts';

const FLAGS = {
  ...STATE_FLAGS,
  agentTrace: toggle('print one record in the Agent Trace format'),
} as const;

type BlameFlags = Values<typeof FLAGS>;

/** `lookfirst blame`: shows which session wrote each line. */
export const BLAME: CliCommand = defineCommand({
  about: 'Shows which session wrote each line of a file, in which turn and when, from the journal.',
  args: { file: required(words('FILE', 'the files')) },
  flags: FLAGS,
  notes: `
A line without a session was there before the first recorded change. "outside" is another program.

Examples:
  lookfirst blame src/a.ts
  lookfirst blame src/a.ts --json            one object per line
  lookfirst blame src/*.ts --agent-trace     for programs that read agent-trace.dev records`,
  run: (cli, { file, ...flags }) => print(cli, file, flags),
});

function print(cli: Cli, files: readonly string[], flags: BlameFlags): Promise<ExitCode> {
  return withRecords(cli, async (records) => {
    const blamed: Blame[] = [];
    const { secrets } = policyOf(cli, cli.flags);
    for (const path of files) {
      const outcome = await blame(records, { cwd: cli.cwd, path, secrets });
      if (!outcome.ok) return tellRefusal(cli, outcome.refusal);
      blamed.push(outcome);
    }
    if (flags.agentTrace !== true) return printAll(cli, blamed);
    const { cwd, nowMs } = cli;
    await cli.terminal.printJson(await agentTrace(blamed, { cwd, version: version(), nowMs }));
    return EXIT.done;
  });
}

async function printAll(cli: Cli, blamed: readonly Blame[]): Promise<ExitCode> {
  const isJson = cli.flags.json === true;
  for (const each of blamed) {
    if (blamed.length > 1 && !isJson) await cli.terminal.print(`${pathText(each.absolute)}:`);
    await (isJson ? printJson : printLines)(cli, each);
  }
  return EXIT.done;
}

async function printJson({ terminal }: Cli, { absolute: path, lines }: Blame): Promise<void> {
  for (const { atMs, ...line } of lines) {
    const when = atMs === undefined ? {} : { at: new Date(atMs).toISOString(), atMs };
    await terminal.printJson({ path, ...line, ...when });
  }
}

async function printLines(cli: Cli, { lines }: Blame): Promise<void> {
  const rows = lines.map((line) => [...originCells(line, cli.age), String(line.line)]);
  const widths = [0, 1, 2, 3].map((column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  for (const [index, row] of rows.entries()) {
    const cells = row.map((cell, column) =>
      column === 3 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    await cli.terminal.print(
      `${cli.terminal.colours.dim(cells.join('  '))}  ${harmless(lines[index]?.text ?? '')}`,
    );
  }
}

/** The table cells that show the origin of a line: session and program, turn, time. */
function originCells({ session, client, turn, atMs, outside }: BlamedLine, age: TimeText): string[] {
  const when = atMs === undefined ? '' : age(atMs);
  if (session === undefined) return [outside === true ? 'outside' : '-', '', when];
  return [phrase(client === undefined ? session : `${session} (${client})`), phrase(turn ?? ''), when];
}
