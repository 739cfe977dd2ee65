const ESCAPED = '\u0001';

/** A string as it can be kept in a text column and compared there: itself, unless SQLite would not give it back. */
export function column(text: string): string {
  return isFragile(text) || text.startsWith(ESCAPED) ? ESCAPED + JSON.stringify(text) : text;
}

/** NUL ends a text when some drivers read it; a lone surrogate has no UTF-8 and would become another character. */
function isFragile(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}

/** The string that {@link column} was given. */
export function fromColumn(text: string): string {
  return text.startsWith(ESCAPED) ? String(JSON.parse(text.slice(1))) : text;
}
