import { createHash } from 'node:crypto';

/** A text that ends in its own checksum, so that a torn or mixed text is detected. */
export function sealed(body: string): string {
  return `${body}\ncheck: ${checksum(body)}\n`;
}

/** The body of a sealed text; undefined if the text is torn. */
export function bodyOf(text: string): string | undefined {
  const parts = /^(.*)\ncheck: ([0-9a-f]{64})\n$/s.exec(text);
  const [, body = '', claimed] = parts ?? [];
  return parts !== null && checksum(body) === claimed ? body : undefined;
}

/** The two edits that turn one sealed text into another. They must be one change, otherwise the checksum is wrong. */
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
