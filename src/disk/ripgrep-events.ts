const MAX_LINE_CHARS = 500;
/** How many characters of a cut line are shown before its match. */
const LEAD_CHARS = 150;

/** The parts of `rg --json` output that we show. */
export type RipgrepEvent =
  | {
      readonly kind: 'line';
      readonly file: string;
      readonly line: number;
      readonly text: string;
      readonly context: boolean;
      /** Byte offset after the line, in the text as ripgrep decoded it. */
      readonly end: number;
    }
  | { readonly kind: 'end'; readonly file: string; readonly binaryOffset: number | undefined };

/** UTF-8 text, or base64 for other bytes. */
type Data = { readonly text: string } | { readonly bytes: string };

interface Message {
  readonly type: string;
  readonly data: {
    readonly path?: Data;
    readonly lines?: Data;
    readonly line_number?: number;
    readonly absolute_offset?: number;
    readonly binary_offset?: number | null;
    readonly submatches?: readonly { readonly start: number }[];
  };
}

/** Parses one line of `rg --json`; undefined for message types we do not use. */
export function readEvent(record: string): RipgrepEvent | undefined {
  // Ripgrep documents the format; it has been stable since version 11.
  const { type, data } = JSON.parse(record) as Message;
  const file = data.path === undefined ? '' : bytesOf(data.path).toString('utf8');
  if (type === 'end') return { kind: 'end', file, binaryOffset: data.binary_offset ?? undefined };
  if ((type !== 'match' && type !== 'context') || data.lines === undefined) return undefined;
  const bytes = bytesOf(data.lines);
  return {
    kind: 'line',
    file,
    line: data.line_number ?? 0,
    text: excerpt(bytes, data.submatches?.[0]?.start ?? 0),
    context: type === 'context',
    end: (data.absolute_offset ?? 0) + bytes.byteLength,
  };
}

function bytesOf(data: Data): Buffer {
  return 'text' in data ? Buffer.from(data.text, 'utf8') : Buffer.from(data.bytes, 'base64');
}

/** A line without its ending, or the part around byte `around`, with `…` where text is cut. */
export function excerpt(bytes: Buffer, around: number): string {
  // A UTF-8 character has at most four bytes, so bytes further away need no decoding.
  const start = characterStart(bytes, around - 4 * LEAD_CHARS);
  const end = characterStart(bytes, around + 4 * MAX_LINE_CHARS);
  const before = bytes.subarray(start, around).toString('utf8');
  const text = withoutEnding(before + bytes.subarray(around, end).toString('utf8'));
  if (start === 0 && end === bytes.byteLength && text.length <= MAX_LINE_CHARS) return text;
  const from = wholeFrom(
    text,
    Math.max(0, Math.min(before.length - LEAD_CHARS, text.length - MAX_LINE_CHARS)),
  );
  const to = wholeFrom(text, Math.min(text.length, from + MAX_LINE_CHARS));
  const cutBefore = start > 0 || from > 0;
  const cutAfter = end < bytes.byteLength || to < text.length;
  return `${cutBefore ? '…' : ''}${text.slice(from, to)}${cutAfter ? '…' : ''}`;
}

/** The start of the UTF-8 character at or before a byte, clamped to the line. */
function characterStart(bytes: Buffer, at: number): number {
  if (at <= 0) return 0;
  if (at >= bytes.byteLength) return bytes.byteLength;
  let start = at;
  while (start > at - 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

function withoutEnding(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** Moves an index back if it would split a surrogate pair. */
function wholeFrom(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}
