import type { Edit, FileIntent } from '../../model/intent.ts';

/** The changes of a patch, or the reason why it is invalid. */
export type ParsedPatch =
  | { readonly ok: true; readonly changes: readonly FileIntent[] }
  | { readonly ok: false; readonly reason: string };

/** A line of a hunk: ` ` unchanged, `-` removed, `+` added. */
export interface HunkLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** The lines with one of these signs, as text. */
export function signedText(lines: readonly HunkLine[], signs: string): string {
  return lines
    .filter(({ sign }) => signs.includes(sign))
    .map(({ text }) => `${text}\n`)
    .join('');
}

/** Converts a hunk to an edit of whole lines. Unchanged and removed lines form its old text. */
export function editOf(lines: readonly HunkLine[], place: NonNullable<Edit['lines']>): Edit {
  const added = signedText(lines, ' +');
  // A hunk that only adds the final newline gives equal old and new texts here. Allow that.
  const same = place.ended === true ? { mayBeSame: true } : {};
  const newString = place.unended ? added.replace(/\n$/, '') : added;
  return { oldString: signedText(lines, ' -'), newString, lines: place, ...same };
}

/**
 * The patch that makes these changes; a string is the reason why a change is invalid. `empty`: the
 * reason for a patch without changes.
 */
export function patchOf(parts: readonly (FileIntent | string)[], empty: string): ParsedPatch {
  const changes: FileIntent[] = [];
  for (const part of parts) {
    if (typeof part === 'string') return wrong(part);
    changes.push(part);
  }
  if (changes.length === 0) return wrong(empty);
  const twice = namedTwice(changes);
  return twice === undefined ? { ok: true, changes } : wrong(`it names ${twice} twice`);
}

/** The first path that occurs twice in a patch. */
function namedTwice(changes: readonly FileIntent[]): string | undefined {
  // Compare old paths and new paths separately: a file may move to a path that another file leaves.
  const named = changes.map((change) => (change.kind === 'move' ? change.source : change.path));
  const reached = changes.flatMap((change) => {
    if (change.kind === 'move') return [change.destination];
    const moves = change.kind === 'edit' || change.kind === 'insert';
    return moves && change.moveTo !== undefined ? [change.moveTo] : [];
  });
  return repeated(named) ?? repeated(reached);
}

function repeated(paths: readonly string[]): string | undefined {
  return paths.find((path, index) => paths.indexOf(path) !== index);
}

/** Parses a line of a hunk. An empty line counts as an unchanged empty line. */
export function hunkLine(line: string): HunkLine | undefined {
  const sign = line === '' ? ' ' : line[0];
  if (sign !== ' ' && sign !== '-' && sign !== '+') return undefined;
  return { sign, text: line.slice(1) };
}

export function wrong(reason: string): ParsedPatch {
  return { ok: false, reason: `the patch cannot be read: ${reason}` };
}
