import type { Edit, FileIntent } from '../../model/intent.ts';

/** What a patch asks for, or why it is not one. */
export type ParsedPatch =
  | { readonly ok: true; readonly changes: readonly FileIntent[] }
  | { readonly ok: false; readonly reason: string };

/** Lines of a hunk: ` ` kept, `-` removed, `+` added. */
export interface HunkLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** A hunk as an edit of whole lines: what it keeps and removes is the anchor. */
export function editOf(lines: readonly HunkLine[], place: NonNullable<Edit['lines']>): Edit {
  const text = (left: '-' | '+'): string =>
    lines
      .filter(({ sign }) => sign !== left)
      .map((line) => `${line.text}\n`)
      .join('');
  return { oldString: text('+'), newString: text('-'), lines: place };
}

/** The added lines as the content of a file. */
export function contentOf(lines: readonly HunkLine[]): string {
  return lines
    .filter(({ sign }) => sign === '+')
    .map((line) => `${line.text}\n`)
    .join('');
}

/** The first path that a patch names twice. */
export function namedTwice(changes: readonly FileIntent[]): string | undefined {
  const seen = new Set<string>();
  for (const change of changes) {
    const paths = change.kind === 'move' ? [change.source, change.destination] : [change.path];
    for (const path of paths) {
      if (seen.has(path)) return path;
      seen.add(path);
    }
  }
  return undefined;
}
