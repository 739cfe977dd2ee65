import { viewOf } from './buffer-view.ts';
import { endingUsed, withEnding } from './endings.ts';
import { decodeUnicode, encodeUnicode, hasMark, hasNul, type TextForm } from './unicode.ts';

const NEWLINE = 10;
const RETURN = 13;

/** How a whole file is stored: its encoding and byte order mark, and whether all of its lines end in CRLF. */
interface FileForm extends TextForm {
  readonly crlf: boolean;
}

/**
 * Encodes a new whole text in the form of the file it replaces: byte order mark, UTF-16, CRLF. Undefined if the file
 * has none of these; the caller then writes the text as it is. A mark in the text itself is not doubled.
 */
export function bytesInFormOf(existing: Uint8Array, text: string): Uint8Array | undefined {
  const form = specialForm(existing);
  if (form === undefined) return undefined;
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  const bom = form.bom || body !== text;
  return encodeUnicode(form.crlf ? withEnding(body, '\r\n') : body, { encoding: form.encoding, bom });
}

/** Returns undefined for plain UTF-8 without CRLF, which needs no decoding to detect. */
function specialForm(bytes: Uint8Array): FileForm | undefined {
  const marked = hasMark(bytes) || hasNul(bytes);
  if (!marked && !beginsWithCrlf(bytes)) return undefined;
  const decoded = decodeUnicode(bytes);
  if (decoded === undefined) return undefined;
  const crlf = endingUsed(decoded.text) === '\r\n';
  const { encoding, bom } = decoded;
  return bom || crlf || encoding !== 'utf-8' ? { encoding, bom, crlf } : undefined;
}

function beginsWithCrlf(bytes: Uint8Array): boolean {
  const newline = viewOf(bytes).indexOf(NEWLINE);
  return newline > 0 && bytes[newline - 1] === RETURN;
}
