import { type ReadStyle, styledText } from '../dialect/read-style.ts';
import type { RenderContext, Rendered } from '../dialect/render.ts';
import type { ReadResult } from '../model/results.ts';
import type { EscapedText } from './tool-answer.ts';

const NEWLINE = 10;

/** Renders a file in its dialect's style, as text. */
export function showText(result: ReadResult, style: ReadStyle, context: RenderContext): Rendered {
  return result.media === undefined ? styledText(result, style, context) : style.other(result, context);
}

/** Like `showText`, but sends the file's bytes without decoding them where that is possible. */
export function showRead(
  result: ReadResult,
  style: ReadStyle,
  context: RenderContext,
): Rendered | EscapedText {
  const { bytes, encoding, media } = result;
  if (media !== undefined || bytes === undefined || encoding !== 'utf-8' || style.lines === 'padded')
    return showText(result, style, context);
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (style.lines !== 'numbered')
    return escaped(style.lines === 'raw' ? lines : joined(lines), style.foot(result, context));
  // Use text for CRLF, because the return is not part of the line, and for an empty file, which has no line to number.
  if (lines.length === 0 || lines.includes('\r\n')) return styledText(result, style, context);
  return numbered(lines, result.from, style.foot(result, context));
}

function numbered(lines: Buffer, first: number, foot: string): EscapedText {
  const end = lines[lines.length - 1] === NEWLINE ? lines.length - 1 : lines.length;
  const shown = lines.subarray(0, end);
  return {
    escaped: {
      expectedBytes: lines.length + (lines.length >> 2) + foot.length,
      writeTo: (out) => void out.numberedLines(shown, first).text(foot),
    },
  };
}

function joined(bytes: Buffer): Buffer {
  return bytes.at(-1) === NEWLINE ? bytes.subarray(0, -1) : bytes;
}

function escaped(bytes: Uint8Array, foot: string): EscapedText {
  return {
    escaped: {
      expectedBytes: bytes.length + (bytes.length >> 3) + foot.length,
      writeTo: (out) => void out.bytes(bytes).text(foot),
    },
  };
}
