import type { Ending, Span } from './lines.ts';

/** Rewrites every line ending of a text as `ending`; undefined leaves the text unchanged. */
export function withEnding(text: string, ending: Ending | undefined): string {
  if (!ending || !text.includes('\n')) return text;
  return text.replaceAll(/\r?\n/g, () => ending);
}

/** The line ending a text uses: `mixed` if there are several kinds, undefined if it has none. */
export function endingUsed(text: string): Ending | 'mixed' | undefined {
  if (!text.includes('\n')) return undefined;
  if (!text.includes('\r\n')) return '\n';
  return /(?:^|[^\r])\n/.test(text) ? 'mixed' : '\r\n';
}

/**
 * Returns a function that finds the ending of the line in which a span ends, or else of the previous line.
 * Spans must be passed in ascending order, so that the text is searched only once.
 */
export function neighbourEndings(text: string): (span: Span) => Ending | undefined {
  let next = -1;
  return (span) => {
    if (next < span.end && next !== text.length) {
      const found = text.indexOf('\n', span.end);
      next = found === -1 ? text.length : found;
    }
    if (next < text.length) return endingAt(text, next);
    const previous = span.start === 0 ? -1 : text.lastIndexOf('\n', span.start - 1);
    return previous === -1 ? undefined : endingAt(text, previous);
  };
}

function endingAt(text: string, newline: number): Ending {
  return newline > 0 && text[newline - 1] === '\r' ? '\r\n' : '\n';
}
