import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect, Entry, State } from '../../src/model/entry.ts';
import { entriesBelow } from '../support/tree.ts';

/** Files by their path below the root, each with the hash of its bytes. */
export type Files = Map<string, string>;

/**
 * Applies the changes in the journal to the files in `start`, and returns the resulting files.
 * `breaks`: each effect whose `before` differs from what the earlier changes left.
 */
export function replay(
  entries: readonly Entry[],
  start: Files,
): { readonly files: Files; readonly breaks: string[] } {
  const files = new Map(start);
  const breaks: string[] = [];
  for (const entry of entries.filter((each) => each.kind === 'change').sort((a, b) => a.seq - b.seq)) {
    for (const effect of entry.effects ?? []) {
      if (effect.before.kind === 'directory' || effect.after.kind === 'directory')
        moveFolder(files, effect, entry.root);
      const expected = effect.before.kind === 'file' ? effect.before.fingerprint.sha256 : undefined;
      const found = files.get(effect.relative);
      if (found !== expected)
        breaks.push(
          `${entry.seq} ${entry.action} ${effect.relative}: before ${short(expected)}, was ${short(found)}`,
        );
      if (effect.after.kind === 'file') files.set(effect.relative, effect.after.fingerprint.sha256);
      else files.delete(effect.relative);
    }
  }
  return { files, breaks };
}

function moveFolder(files: Files, { relative, movedTo }: Effect, root: string): void {
  if (movedTo === undefined) return;
  const to = movedTo.slice(root.length + 1);
  for (const [path, sha256] of [...files]) {
    if (!path.startsWith(`${relative}/`)) continue;
    files.delete(path);
    files.set(`${to}${path.slice(relative.length)}`, sha256);
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
export function story(entries: readonly Entry[]): string {
  return entries
    .map((entry) => {
      const undone = entry.undone === undefined ? '' : ` of ${entry.undone.changes.join(' ')}`;
      const effects = (entry.effects ?? []).map(({ relative, before, after, movedTo }) => {
        const to = movedTo === undefined ? '' : ` to ${movedTo}`;
        return `${relative}: ${sideText(before)} > ${sideText(after)}${to}`;
      });
      const how = entry.recovered === true ? ' (recovered)' : '';
      return `${entry.seq} ${entry.change} ${entry.session} ${entry.action}${undone}${how}: ${effects.join(', ')}`;
    })
    .join('\n');
}

function sideText(side: State): string {
  return side.kind === 'file' ? side.fingerprint.sha256.slice(0, 6) : side.kind;
}
