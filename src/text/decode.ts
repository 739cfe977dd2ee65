import { decodeLegacy, encodeLegacy } from './legacy.ts';
import {
  type DecodedText,
  decodeUnicode,
  encodeUnicode,
  hasMark,
  hasNul,
  isUnicode,
  type TextForm,
} from './unicode.ts';

/**
 * Decodes a file without loss, or undefined: then it is binary for every purpose of ours.
 * The ladder: byte order mark; NUL near the beginning (UTF-16 or binary); strict UTF-8; an older encoding
 * that gives the same bytes back. Nothing is ever replaced by U+FFFD.
 */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const decoded = decodeUnicode(bytes);
  if (decoded !== undefined) return decoded;
  return hasNul(bytes) || hasMark(bytes) ? undefined : decodeLegacy(bytes);
}

/** The bytes of a text stored `like` another; undefined if that form cannot hold it (an emoji in Latin-1). */
export function encodeText(text: string, like: TextForm): Uint8Array | undefined {
  return isUnicode(like.encoding) ? encodeUnicode(text, like) : encodeLegacy(text, like.encoding);
}
