/** A range of a text and its replacement. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly put: string;
}

/** The new text of a file (undefined: no file), or the reason why the file must stay unchanged. */
export type EditedConfig =
  | { readonly ok: true; readonly text: string | undefined }
  | { readonly ok: false; readonly reason: string; readonly line?: number };

/** Applies all splices, which must not overlap. All bytes outside them stay. */
export function spliced(text: string, splices: readonly Splice[]): string {
  const ordered = [...splices].sort((a, b) => a.from - b.from || a.to - b.to);
  let at = 0;
  let out = '';
  for (const { from, to, put } of ordered) {
    out += text.slice(at, from) + put;
    at = to;
  }
  return out + text.slice(at);
}

export function edited(text: string | undefined): EditedConfig {
  return { ok: true, text };
}

/**
 * The result for a file that must stay unchanged. If `text` is given, the result contains the line
 * of the offset `at` in this text.
 */
export function cannotEdit(reason: string, text?: string, at?: number): EditedConfig {
  if (text === undefined || at === undefined) return { ok: false, reason };
  return { ok: false, reason, line: configLineAt(text, at) };
}

/** The line number of a position, counted from 1. */
export function configLineAt(text: string, at: number): number {
  let line = 1;
  for (let from = text.indexOf('\n'); from >= 0 && from < at; from = text.indexOf('\n', from + 1)) line += 1;
  return line;
}

/** The line ending of a text: that of its first line. */
export function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n';
}
