import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { byPath, type Delta, type State } from '../../src/model/delta.ts';
import type { ChangeEntry, Entry } from '../../src/model/entry.ts';
import { entriesBelow } from '../support/tree.ts';

/** Files by their path below the root, each with the hash of its bytes. */
export type Files = Map<string, string>;

/**
 * Applies the changes in the journal to the files in `start`, and returns the resulting files.
 * `breaks`: each delta whose `before` differs from what the earlier changes left.
 */
export function replay(
  entries: readonly Entry[],
  start: Files,
): { readonly files: Files; readonly breaks: string[] } {
  const files = new Map(start);
  const breaks: string[] = [];
  for (const entry of entries.filter((each) => each.kind === 'change').sort((a, b) => a.seq - b.seq)) {
    for (const delta of byPath(entry.deltas)) {
      if (delta.after.kind === 'directory') moveFolder(files, delta);
      const expected = delta.before.kind === 'file' ? delta.before.fingerprint.sha256 : undefined;
      const found = files.get(delta.relative);
      if (found !== expected)
        breaks.push(
          `${entry.seq} ${entry.action} ${delta.relative}: before ${short(expected)}, was ${short(found)}`,
        );
      if (delta.after.kind === 'file') files.set(delta.relative, delta.after.fingerprint.sha256);
      else files.delete(delta.relative);
    }
  }
  return { files, breaks };
}

function moveFolder(files: Files, { relative: to, movedFrom }: Delta): void {
  for (const [path, sha256] of [...files]) {
    if (movedFrom === undefined || !path.startsWith(`${movedFrom.relative}/`)) continue;
    files.delete(path);
    files.set(`${to}${path.slice(movedFrom.relative.length)}`, sha256);
  }
}

function short(sha256: string | undefined): string {
  return sha256 === undefined ? 'nothing' : sha256.slice(0, 8);
}

/** The files below a folder on disk, with the hashes of their bytes. */
export function filesIn(root: string): Files {
  const files: Files = new Map();
  for (const path of pathsIn(root))
    if (lstatSync(join(root, path)).isFile())
      files.set(
        path,
        createHash('sha256')
          .update(readFileSync(join(root, path)))
          .digest('hex'),
      );
  return files;
}

export function pathsIn(root: string): string[] {
  return entriesBelow(root)
    .map(({ path }) => path.slice(root.length + 1))
    .sort();
}

/** Every file with its mode and text, every folder with its mode, every link with its target. */
export function treeWithModes(root: string): string[] {
  return pathsIn(root).map((path) => {
    const stats = lstatSync(join(root, path));
    if (stats.isSymbolicLink()) return `${path} => ${readlinkSync(join(root, path))}`;
    const mode = (stats.mode & 0o777).toString(8);
    if (!stats.isFile()) return `${mode} ${path}/`;
    return `${path} ${mode} ${readFileSync(join(root, path), 'utf8')}`;
  });
}

/**
 * The lines that `after` lacks (`-`) and the lines that it has in addition (`+`). Ignores
 * additional empty folders, which several sessions may have created and removed.
 */
export function difference(before: readonly string[], after: readonly string[]): string[] {
  const [then, now] = [new Set(before), new Set(after)];
  return [
    ...before.filter((line) => !now.has(line)).map((line) => `- ${line.slice(0, 60)}`),
    ...after.filter((line) => !then.has(line) && !line.endsWith('/')).map((line) => `+ ${line.slice(0, 60)}`),
  ];
}

/** One line for each change, to find the cause of a failure. */
export function story(entries: readonly ChangeEntry[]): string {
  return entries
    .map((entry) => {
      const undone = entry.undone === undefined ? '' : ` of ${entry.undone.changes.join(' ')}`;
      const deltas = entry.deltas.map(({ relative, before, after, movedFrom }) => {
        const to = movedFrom === undefined ? '' : ` from ${movedFrom.relative}`;
        return `${relative}: ${sideText(before)} > ${sideText(after)}${to}`;
      });
      const how = entry.recovered === true ? ' (recovered)' : '';
      return `${entry.seq} ${entry.change} ${entry.session} ${entry.action}${undone}${how}: ${deltas.join(', ')}`;
    })
    .join('\n');
}

function sideText(side: State): string {
  return side.kind === 'file' ? side.fingerprint.sha256.slice(0, 6) : side.kind;
}
