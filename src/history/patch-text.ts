/** One file of an `apply_patch` text. */
export interface PatchedFile {
  readonly path: string;
  /** The whole content of an added file; absent for an update. */
  readonly added?: string;
}

const HEADER = /^\*\*\* (Add|Update|Delete) File: (.+)$/;
const MOVE = /^\*\*\* Move to: (.+)$/;

/** The files that a patch adds or updates, under the names they have afterwards; deleted ones are left out. */
export function patchedFiles(patch: string): readonly PatchedFile[] {
  const sections: { verb: string; path: string; lines: string[] }[] = [];
  for (const line of patch.split('\n')) {
    const [, verb, path] = HEADER.exec(line) ?? [];
    if (verb !== undefined && path !== undefined) sections.push({ verb, path, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections
    .filter(({ verb }) => verb !== 'Delete')
    .map(({ verb, path, lines }) =>
      verb === 'Add' ? { path, added: addedText(lines) } : { path: MOVE.exec(lines[0] ?? '')?.[1] ?? path },
    );
}

/** Lines of a unified diff's new side, hunk by hunk. */
export interface Hunk {
  readonly from: number;
  readonly lines: readonly string[];
}

/** The new side of each hunk: the context and the added lines, which the one who wrote the patch knows. */
export function newSides(diff: string): readonly Hunk[] {
  const hunks: { from: number; lines: string[] }[] = [];
  for (const line of diff.split('\n')) {
    const from = /^@@ -\d+(?:,\d+)? \+(\d{1,12})(?:,\d+)? @@/.exec(line)?.[1];
    if (from !== undefined) hunks.push({ from: Number(from), lines: [] });
    else if (line.startsWith(' ') || line.startsWith('+')) hunks.at(-1)?.lines.push(line.slice(1));
  }
  return hunks.filter((hunk) => hunk.lines.length > 0 && hunk.from > 0);
}

function addedText(lines: readonly string[]): string {
  return lines
    .filter((line) => line.startsWith('+'))
    .map((line) => `${line.slice(1)}\n`)
    .join('');
}
