import { resolve } from 'node:path';
import type { UndoResult } from '../model/results.ts';
import { harmless, pathText } from '../report/bounded.ts';
import { relativeTime } from '../report/relative-time.ts';
import type { Store } from '../store/store.ts';
import type { Cli } from './cli.ts';
import { paintDiff } from './diff-text.ts';
import { shownPath, typeable, whatOf } from './entry-row.ts';
import { count } from './words.ts';

const MAX_LISTED = 20;

/** Where it was done: paths of the result are relative to the first root. */
interface UndoneIn {
  readonly store: Store;
  readonly workspace: { readonly roots: readonly string[] };
}

/** What an undo would do: which changes, which files, which lines. */
export async function previewText(cli: Cli, world: UndoneIn, result: UndoResult): Promise<string> {
  const lines = [`would take back ${count(result.undid.length, 'change')}:`];
  for (const id of result.undid.slice(0, MAX_LISTED))
    lines.push(`  ${await changeLine(cli, world.store, id)}`);
  const more = result.undid.length - MAX_LISTED;
  if (more > 0) lines.push(`  and ${more} more`);
  lines.push(...fileLines(cli, world, result));
  if (result.diff !== undefined) lines.push(paintDiff(harmless(result.diff), cli.terminal.colours));
  return lines.join('\n');
}

/** What an undo did. */
export function undoneText(cli: Cli, world: UndoneIn, result: UndoResult): string {
  const again = result.change === undefined ? [] : [`lookfirst undo ${result.change} takes this back again`];
  const files = fileLines(cli, world, result);
  return [`took back ${count(result.undid.length, 'change')}:`, ...files, ...again].join('\n');
}

async function changeLine(cli: Cli, store: Store, id: string): Promise<string> {
  const [entry] = await store.entries({ change: id, kinds: ['change'], limit: 1 });
  if (entry === undefined) return id;
  const path = pathText(shownPath(entry, cli.cwd));
  return `${id}  ${whatOf(entry)} ${path} by ${entry.session}, ${relativeTime(entry.atMs, cli.nowMs)}`;
}

function fileLines(cli: Cli, { workspace }: UndoneIn, { files }: UndoResult): string[] {
  const listed = files.slice(0, MAX_LISTED).map(({ path, did }) => {
    const shown = typeable(resolve(workspace.roots[0] ?? '', path), cli.cwd);
    return `  ${did.padEnd(10)}  ${pathText(shown)}`;
  });
  const more = files.length - listed.length;
  return more > 0 ? [...listed, `  and ${more} more`] : listed;
}
