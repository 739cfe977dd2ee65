const ESCAPED = '\u0001';

/**
 * Encodes a string for a text column, so that it can be stored and compared there. Only strings that SQLite would not
 * return unchanged are escaped.
 */
export function column(text: string): string {
  return isFragile(text) || text.startsWith(ESCAPED) ? ESCAPED + JSON.stringify(text) : text;
}

/** Some drivers end a text at NUL. A lone surrogate has no UTF-8 form and would become another character. */
function isFragile(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}

/** Decodes a string that {@link column} encoded. */
export function fromColumn(text: string): string {
  return text.startsWith(ESCAPED) ? String(JSON.parse(text.slice(1))) : text;
}
