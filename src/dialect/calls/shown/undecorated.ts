import type { Decoration } from '../table.ts';

/** The text without what the server put around it. */
export function undecorated(text: string, decoration: Decoration): string {
  return withoutFooters(withoutHeader(text, decoration.header), decoration.footers ?? []);
}

function withoutHeader(text: string, header: string | undefined): string {
  if (header === undefined || !text.startsWith(header)) return text;
  const end = text.indexOf('\n');
  if (end < 0) return '';
  return text.slice(text.startsWith('\n', end + 1) ? end + 2 : end + 1);
}

function withoutFooters(text: string, footers: readonly string[]): string {
  let end = text.length;
  let cut = false;
  for (;;) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    if (start === 0 || !footers.some((footer) => text.startsWith(footer, start))) break;
    end = start - 1;
    cut = true;
  }
  if (!cut) return text;
  // One empty line stands between the lines and the first footer.
  return text.slice(0, text[end - 1] === '\n' ? end : end + 1);
}
