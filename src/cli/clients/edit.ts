/** One stretch of a text and what takes its place. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly put: string;
}

/** A changed text, undefined for "no file"; or why nothing may be changed, and at which line. */
export type EditedConfig =
  | { readonly ok: true; readonly text: string | undefined }
  | { readonly ok: false; readonly reason: string; readonly line?: number };

/** Puts all splices in; they must not overlap. Everything outside them stays byte for byte. */
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

/** `at`: where in `text` the trouble is, if it has a place. */
export function cannotEdit(reason: string, text?: string, at?: number): EditedConfig {
  if (text === undefined || at === undefined) return { ok: false, reason };
  return { ok: false, reason, line: configLineAt(text, at) };
}

/** 1-based. */
export function configLineAt(text: string, at: number): number {
  let line = 1;
  for (let from = text.indexOf('\n'); from >= 0 && from < at; from = text.indexOf('\n', from + 1)) line += 1;
  return line;
}

/** The line ending a text uses, by its first one. */
export function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n';
}
