import type { Edit, FileIntent } from '../../model/intent.ts';
import type { Patch } from '../../model/session.ts';
import { ANY, checkShape, mismatchText, objectOf } from '../../model/shape.ts';
import { editOf, type HunkLine, hunkLine, type ParsedPatch, patchOf, signedText, wrong } from './patched.ts';
import { parseUnified } from './unified.ts';

const PATCH = objectOf({ format: ANY, text: ANY });

/** Parses a patch into changes, or returns the reason why it is invalid. */
export function parsePatch(patch: Patch): ParsedPatch {
  const [mismatch] = checkShape(PATCH, patch);
  if (mismatch !== undefined)
    return { ok: false, reason: mismatchText(mismatch, { noun: 'field', whole: 'a patch' }) };
  const { format, text } = patch;
  if (typeof text !== 'string') return { ok: false, reason: 'the text of a patch must be a string' };
  if (format === 'v4a') return parseV4a(text);
  if (format === 'unified') return parseUnified(text);
  return { ok: false, reason: 'the format of a patch must be "v4a" or "unified"' };
}

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
const FILE = /^(\s*)\*\*\* (Add|Update|Delete) File:\s*(.+?)\s*$/;
const MOVE = /^\*\*\* Move to:\s*(.+?)\s*$/;

/**
 * Parses a patch in the V4A format: `*** Begin Patch`, then files to add, update, delete or move, then `*** End
 * Patch`. Text outside these markers, or a file named twice, makes the whole patch invalid.
 */
function parseV4a(text: string): ParsedPatch {
  const lines = text.replaceAll('\r\n', '\n').trim().split('\n');
  if (lines[0]?.trim() !== BEGIN) return wrong(`it must begin with "${BEGIN}"`);
  if (lines.at(-1)?.trim() !== END) return wrong(`it must end with "${END}"`);
  const { sections, stray } = patchSections(lines.slice(1, -1));
  if (stray !== undefined) return wrong(`text before the first file: ${stray.slice(0, 80)}`);
  const changes = sections.map((section) => {
    const change = changeOf(section);
    return typeof change === 'string' ? `${section.path}: ${change}` : change;
  });
  return patchOf(changes, 'it names no file');
}

/** The part of a patch that changes one file: its kind, and the lines below its marker. */
export interface PatchSection {
  readonly kind: 'Add' | 'Update' | 'Delete';
  readonly path: string;
  readonly lines: string[];
}

/** The files that a patch names, in order. `stray`: the first line before them, if there is one. */
export function patchSections(lines: readonly string[]): {
  readonly sections: readonly PatchSection[];
  readonly stray: string | undefined;
} {
  const sections: PatchSection[] = [];
  const strays: string[] = [];
  for (const line of lines) {
    const [, indent, kind, path] = FILE.exec(line) ?? [];
    const last = sections.at(-1);
    // Codex also accepts a marker after spaces. Inside an update, such a line is an unchanged line of
    // the hunk.
    const isText = indent !== '' && last?.kind === 'Update';
    if (!isText && path !== undefined && (kind === 'Add' || kind === 'Update' || kind === 'Delete'))
      sections.push({ kind, path, lines: [] });
    else (last?.lines ?? strays).push(line);
  }
  return { sections, stray: strays[0] };
}

/** The new path in the lines of an update; undefined if the file is not moved. */
export function movedTo(lines: readonly string[]): string | undefined {
  return MOVE.exec(lines[0] ?? '')?.[1];
}

function changeOf({ kind, path, lines }: PatchSection): FileIntent | string {
  if (kind === 'Delete')
    return lines.length === 0
      ? { kind: 'delete', path, only: 'file' }
      : 'no lines may follow "*** Delete File"';
  if (kind === 'Add') {
    const added = lines.flatMap((line) => hunkLine(line) ?? []);
    if (!lines.every((line) => line.startsWith('+'))) return 'every line of a new file begins with +';
    return { kind: 'write', path, content: signedText(added, '+') };
  }
  return updateOf(path, lines);
}

function updateOf(path: string, lines: readonly string[]): FileIntent | string {
  const destination = movedTo(lines);
  const body = destination === undefined ? lines : lines.slice(1);
  if (destination !== undefined && body.length === 0) return { kind: 'move', source: path, destination };
  const moveTo = destination === undefined ? {} : { moveTo: destination };
  const { hunks, problem } = hunksOf(body);
  if (problem !== undefined) return problem;
  if (hunks.length === 0) return 'an update needs a hunk';
  const [adding] = hunks.filter(({ lines }) => lines.every(({ sign }) => sign === '+'));
  if (hunks.length === 1 && adding !== undefined)
    return { kind: 'insert', path, content: signedText(adding.lines, '+'), ...moveTo };
  if (adding !== undefined) return 'each of several hunks needs at least one unchanged or removed line';
  return { kind: 'edit', path, edits: hunks.map(asEdit), ...moveTo };
}

/** Consecutive lines of a file. `header`: the text after `@@`, which is a line above them. */
interface Hunk {
  readonly lines: HunkLine[];
  readonly header: string;
  atEnd: boolean;
}

function asEdit({ lines, atEnd, header }: Hunk): Edit {
  return editOf(lines, {
    ...(atEnd ? { atEnd } : {}),
    ...(header.trim() === '' ? {} : { after: header.trim() }),
  });
}

/** The hunks of an update. `problem`: why a line belongs to no hunk. */
export function hunksOf(lines: readonly string[]): {
  readonly hunks: readonly Hunk[];
  readonly problem: string | undefined;
} {
  const hunks: Hunk[] = [];
  const [problem] = lines.flatMap((line) => takeLine(hunks, line) ?? []);
  return { hunks: hunks.filter((hunk) => hunk.lines.length > 0), problem };
}

/** Adds a line to the last hunk, or begins a new hunk. Returns a reason if the line belongs to no hunk. */
function takeLine(hunks: Hunk[], line: string): string | undefined {
  const last = hunks.at(-1);
  if (line.startsWith('@@')) {
    hunks.push({ lines: [], header: line.slice(2).replace(/^ /, ''), atEnd: false });
    return undefined;
  }
  if (line.trim() === END_OF_FILE) {
    if (last === undefined) return `"${END_OF_FILE}" comes before any hunk`;
    last.atEnd = true;
    return undefined;
  }
  const parsed = hunkLine(line);
  if (parsed === undefined) return `not a line of a hunk: ${line.slice(0, 80)}`;
  if (last === undefined || last.atEnd) hunks.push({ lines: [parsed], header: '', atEnd: false });
  else last.lines.push(parsed);
  return undefined;
}
