import type { Edit, HostIntent } from '../../model/intent.ts';

/** One file of a patch in the V4A format (`*** Begin Patch`). */
type PatchedFile =
  | { readonly verb: 'add'; readonly path: string; readonly content: string }
  | { readonly verb: 'delete'; readonly path: string }
  | {
      readonly verb: 'update';
      readonly path: string;
      readonly moveTo?: string;
      readonly hunks: readonly PatchHunk[];
    };

/** A run of consecutive lines: `old` before the patch, `new` after it. */
interface PatchHunk {
  /** The text after `@@`: a line above the hunk, by which the patching program finds the place. */
  readonly header?: string;
  readonly old: readonly string[];
  readonly new: readonly string[];
}

const FILE = /^(\s*)\*\*\* (Add|Update|Delete) File: ?(.+?)\s*$/;
const MOVE = /^\*\*\* Move to: ?(.+?)\s*$/;
const HEADER = /^@@(?: (.*))?$/;

/** The files that a patch names, in order. Lines before the first file are ignored. */
function patchedFiles(patch: string): readonly PatchedFile[] {
  const sections: { verb: string; path: string; lines: string[] }[] = [];
  for (const line of patch.split(/\r?\n/)) {
    const [, indent, verb, path] = FILE.exec(line) ?? [];
    // Codex also accepts a `*** … File:` marker after spaces. Inside an update, such a line is a
    // context line of the hunk.
    const isText = indent !== '' && sections.at(-1)?.verb === 'Update';
    if (!isText && verb !== undefined && path !== undefined) sections.push({ verb, path, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ verb, path, lines }): PatchedFile => {
    if (verb === 'Delete') return { verb: 'delete', path };
    if (verb === 'Add') return { verb: 'add', path, content: addedText(lines) };
    const moveTo = MOVE.exec(lines[0] ?? '')?.[1];
    const hunks = hunksOf(lines);
    return moveTo === undefined ? { verb: 'update', path, hunks } : { verb: 'update', path, moveTo, hunks };
  });
}

/**
 * The changes that a patch makes. The patching program matches whole lines, so the old text of each
 * edit consists of whole lines.
 */
export function patchIntents(patch: string): HostIntent[] {
  return patchedFiles(patch).flatMap((file): HostIntent[] => {
    const { path } = file;
    if (file.verb === 'add') return [{ kind: 'write', path, content: file.content }];
    if (file.verb === 'delete') return [{ kind: 'delete', path }];
    const moved: HostIntent[] =
      file.moveTo === undefined ? [] : [{ kind: 'move', source: path, destination: file.moveTo }];
    return [...updates(path, file.hunks), ...moved];
  });
}

function updates(path: string, hunks: readonly PatchHunk[]): HostIntent[] {
  const edits: Edit[] = [];
  let appended = '';
  for (const hunk of hunks) {
    const anchor = hunk.old.length === 0 && hunk.header !== undefined ? [hunk.header] : [];
    const oldString = ended([...anchor, ...hunk.old]);
    const newString = ended([...anchor, ...hunk.new]);
    if (oldString === '') appended += newString;
    else if (oldString !== newString) edits.push({ oldString, newString });
  }
  return [
    ...(edits.length === 0 ? [] : [{ kind: 'edit' as const, path, edits }]),
    ...(appended === '' ? [] : [{ kind: 'insert' as const, path, content: appended }]),
  ];
}

interface OpenHunk {
  readonly header?: string;
  readonly old: string[];
  readonly new: string[];
}

function hunksOf(lines: readonly string[]): readonly PatchHunk[] {
  const hunks: OpenHunk[] = [];
  for (const line of lines) {
    const header = HEADER.exec(line);
    // The first hunk may come without a header.
    if (header !== null || (hunks.length === 0 && /^[ +-]/.test(line)))
      hunks.push({ ...(header?.[1] === undefined ? {} : { header: header[1] }), old: [], new: [] });
    const hunk = hunks.at(-1);
    if (header === null && hunk !== undefined) addLine(hunk, line);
  }
  return hunks.map(withoutEmptyEnd).filter((hunk) => hunk.old.length + hunk.new.length > 0);
}

/**
 * Adds a line of a hunk. An empty context line may lack its leading space; other lines without a sign are not part of
 * the file.
 */
function addLine(hunk: OpenHunk, line: string): void {
  if (!/^(?:[ +-]|$)/.test(line)) return;
  if (!line.startsWith('+')) hunk.old.push(line.slice(1));
  if (!line.startsWith('-')) hunk.new.push(line.slice(1));
}

/**
 * Drops empty lines at the end of a hunk: they belong to the layout of the patch, not to the file.
 */
function withoutEmptyEnd(hunk: OpenHunk): PatchHunk {
  while (hunk.old.at(-1) === '' && hunk.new.at(-1) === '' && hunk.old.length > 0) {
    hunk.old.pop();
    hunk.new.pop();
  }
  return hunk;
}

function ended(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function addedText(lines: readonly string[]): string {
  return ended(lines.filter((line) => line.startsWith('+')).map((line) => line.slice(1)));
}
