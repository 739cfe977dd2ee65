import { choice, required, several, text, type Values } from '../../config/flags.ts';
import { type Coverage, unionCoverage } from '../../model/coverage.ts';
import { FORMAT_NAMES } from '../../model/transcript.ts';
import { readTranscript } from '../../records/transcripts.ts';
import { countOf, formatRanges } from '../../report/amounts.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { PATH_COLUMN, shownPath, whenColumn } from '../columns.ts';

/** The lines that the model of a conversation has been shown, from its transcript. */
type TranscriptSightings = Awaited<ReturnType<typeof readTranscript>>;

const FLAGS = {
  format: choice('NAME', 'format of the transcript (default: detected)', FORMAT_NAMES),
  cwd: text(
    'DIR',
    "where relative paths start if the transcript doesn't say (default: the project folder that Gemini CLI recorded, else this folder)",
  ),
  root: several('DIR', 'only files in this folder'),
} as const;

/** `lookfirst history`: shows what the model of a conversation has seen, from its transcript alone. */
export const HISTORY: CliCommand = defineCommand({
  about: 'Shows which parts of files the model of a conversation has seen and still has in its context.',
  args: { file: required(text('FILE', 'a transcript')) },
  flags: FLAGS,
  notes: `
Content that has been compacted, trimmed, cleared or rewound since doesn't count, and neither do
failed calls.

Examples:
  lookfirst history ~/.claude/projects/-repo/0a1b2c3d.jsonl
  lookfirst history rollout.jsonl --root . --json
  lookfirst history messages.json --format anthropic-messages`,
  run: (cli, { file, ...flags }) => history(cli, file, flags),
});

/** Minimum size of a file whose reading shows a progress bar. A smaller one is read before a bar is seen. */
const PROGRESS_FROM_BYTES = 32 << 20;

async function history(
  cli: Cli,
  file: string,
  { format, cwd, root }: Values<typeof FLAGS>,
): Promise<ExitCode> {
  const onProgress = (done: number, size: number): void => {
    if (size >= PROGRESS_FROM_BYTES) cli.terminal.showProgress('reading', done, size);
  };
  const seen = await readTranscript(file, { base: cli.cwd, format, cwd, root: root?.at(-1), onProgress });
  await (cli.flags.json === true ? printJson : printTable)(cli, seen);
  return EXIT.done;
}

async function printJson(
  cli: Cli,
  { format, records, skipped, sightings }: TranscriptSightings,
): Promise<void> {
  await cli.terminal.printJson({ type: 'transcript', format, records, skipped });
  for (const sighting of sightings) await cli.terminal.printJson({ type: 'sighting', ...sighting });
}

async function printTable(
  cli: Cli,
  { format, records, skipped, sightings }: TranscriptSightings,
): Promise<void> {
  const files = byFile(sightings);
  const left = skipped.count === 0 ? '' : `, ${skipped.count} left out (${reasons(skipped.reasons)})`;
  const head = `${format ?? 'empty'} transcript, ${countOf(records, 'record')}${left}: ${countOf(files.length, 'file')} in context`;
  await cli.terminal.print(head);
  if (files.length === 0) return;
  await cli.terminal.printTable(
    [
      { ...PATH_COLUMN, cell: ({ path }) => shownPath(cli, path) },
      { title: 'LINES', cut: 'end', cell: ({ coverage }) => linesOf(coverage) },
      { title: 'HOW', cell: ({ how }) => how.join(', ') },
      whenColumn(cli),
    ],
    files,
  );
}

interface SeenFile {
  readonly path: string;
  readonly coverage: Coverage;
  readonly how: readonly string[];
  readonly atMs: number | undefined;
}

/** One row per file, most recently seen last, because users remember the end of a conversation. */
function byFile(sightings: TranscriptSightings['sightings']): SeenFile[] {
  const files = new Map<string, SeenFile>();
  for (const { path, coverage, how, atMs, totalLines } of sightings) {
    const known = files.get(path);
    files.delete(path);
    files.set(path, {
      path,
      // If the number of lines is unknown, seen ranges never add up to the whole file.
      coverage:
        known === undefined ? coverage : unionCoverage(known.coverage, coverage, totalLines ?? Infinity),
      how: [...new Set([...(known?.how ?? []), how])],
      atMs: atMs ?? known?.atMs,
    });
  }
  return [...files.values()];
}

function linesOf(coverage: Coverage): string {
  switch (coverage.kind) {
    case 'whole':
      return 'whole';
    case 'lines':
      return formatRanges(coverage.ranges);
    case 'none':
      return 'unknown';
    default:
      return coverage satisfies never;
  }
}

function reasons(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, times]) => `${times} ${reason}`)
    .join(', ');
}
