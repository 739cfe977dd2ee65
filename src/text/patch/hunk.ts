import type { Edit, FileIntent } from '../../model/intent.ts';

/** The changes of a patch, or the reason why it is invalid. */
export type ParsedPatch =
  | { readonly ok: true; readonly changes: readonly FileIntent[] }
  | { readonly ok: false; readonly reason: string };

/** A line of a hunk: ` ` kept, `-` removed, `+` added. */
export interface HunkLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Converts a hunk to an edit of whole lines. Kept and removed lines form the anchor. */
export function editOf(lines: readonly HunkLine[], place: NonNullable<Edit['lines']>): Edit {
  const text = (left: '-' | '+'): string =>
    lines
      .filter(({ sign }) => sign !== left)
      .map((line) => `${line.text}\n`)
      .join('');
  const added = text('-');
  return { oldString: text('+'), newString: place.unended ? added.replace(/\n$/, '') : added, lines: place };
}

/** The added lines as the content of a new file. */
export function contentOf(lines: readonly HunkLine[]): string {
  return lines
    .filter(({ sign }) => sign === '+')
    .map((line) => `${line.text}\n`)
    .join('');
}

/** The first path that occurs twice in a patch. */
export function namedTwice(changes: readonly FileIntent[]): string | undefined {
  // A file may move to a path that another file leaves.
  const named = changes.map((change) => (change.kind === 'move' ? change.source : change.path));
  const reached = changes.flatMap((change) => {
    if (change.kind === 'move') return [change.destination];
    return change.kind === 'edit' && change.moveTo !== undefined ? [change.moveTo] : [];
  });
  return repeated(named) ?? repeated(reached);
}

function repeated(paths: readonly string[]): string | undefined {
  return paths.find((path, index) => paths.indexOf(path) !== index);
}
