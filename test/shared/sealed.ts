import { createHash } from 'node:crypto';

/** A text that ends in a checksum of itself: a torn or mixed one is told from any that a writer intended. */
export function sealed(body: string): string {
  return `${body}\ncheck: ${checksum(body)}\n`;
}

/** The body of a sealed text; undefined if it is not whole. */
export function bodyOf(text: string): string | undefined {
  const parts = /^(.*)\ncheck: ([0-9a-f]{64})\n$/s.exec(text);
  const [, body = '', claimed] = parts ?? [];
  return parts !== null && checksum(body) === claimed ? body : undefined;
}

/** The two edits that turn one sealed text into another: made in one change, or the checksum is wrong. */
export function resealing(
  from: string,
  to: string,
): { readonly oldString: string; readonly newString: string }[] {
  return [
    { oldString: from, newString: to },
    { oldString: `check: ${checksum(from)}`, newString: `check: ${checksum(to)}` },
  ];
}

function checksum(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}
