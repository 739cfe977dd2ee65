import { resolve } from 'node:path';
import type { Entry } from '../model/entry.ts';
import { whatOf } from '../records/entry-words.ts';
import type { TakenBack } from '../records/take-back.ts';
import { countOf } from '../report/amounts.ts';
import { harmless, pathText, phrase } from '../report/bounded.ts';
import { paintDiff } from '../report/human.ts';
import type { Cli } from './cli.ts';
import { entryPath, typeable } from './entry-row.ts';

const MAX_LISTED = 20;

/** The preview of an undo: its changes, files and lines. */
export function previewText(cli: Cli, taken: TakenBack): string {
  const { result, changes } = taken;
  const lines = [`would take back ${countOf(result.undid.length, 'change')}:`];
  for (const entry of changes.slice(0, MAX_LISTED)) lines.push(`  ${changeLine(cli, entry)}`);
  const more = changes.length - MAX_LISTED;
  if (more > 0) lines.push(`  and ${more} more`);
  lines.push(...fileLines(cli, taken));
  if (result.diff !== undefined) lines.push(paintDiff(harmless(result.diff), cli.terminal.colours));
  return lines.join('\n');
}

/** The result of an undo. */
export function undoneText(cli: Cli, taken: TakenBack): string {
  const { change, undid } = taken.result;
  const again = change === undefined ? [] : [`lookfirst undo ${change} takes this back again`];
  return [`took back ${countOf(undid.length, 'change')}:`, ...fileLines(cli, taken), ...again].join('\n');
}

/** The result of a rewind. */
export function rewoundText(cli: Cli, taken: TakenBack, turn: string): string {
  const { change, undid } = taken.result;
  const again = change === undefined ? [] : ['lookfirst undo takes the rewind back'];
  const first = `returned to the beginning of turn ${phrase(turn)}: took back ${countOf(undid.length, 'change')}:`;
  return [first, ...fileLines(cli, taken), ...again].join('\n');
}

function changeLine(cli: Cli, entry: Entry): string {
  const path = pathText(entryPath(entry, cli.cwd));
  return `${entry.change}  ${whatOf(entry)} ${path} by ${entry.session}, ${cli.times.age(entry.atMs)}`;
}

function fileLines(cli: Cli, { root, result: { files } }: TakenBack): string[] {
  const listed = files.slice(0, MAX_LISTED).map(({ path, did }) => {
    const shown = typeable(resolve(root, path), cli.cwd);
    return `  ${did.padEnd(10)}  ${pathText(shown)}`;
  });
  const more = files.length - listed.length;
  return more > 0 ? [...listed, `  and ${more} more`] : listed;
}
