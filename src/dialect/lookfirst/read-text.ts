import type { ReadResult } from '../../model/results.ts';
import { byteSize, lineWords } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { explain } from '../../report/explain.ts';
import type { Results } from '../operation.ts';
import {
  type ContentBlock,
  type ReadStyle,
  type RenderContext,
  type Rendered,
  styledText,
} from '../render.ts';

/** Numbered lines, then one receipt line that says what was shown. */
export const RECEIPT_STYLE: ReadStyle = {
  lines: 'numbered',
  foot: (result) => {
    const rows = [...notes(result), receipt(result)];
    return result.to === 0 ? rows.join('\n') : `\n${rows.join('\n')}`;
  },
  other: notText,
};

/**
 * The receipt line: `[read PATH lines A-B of N revision R]`. It has a revision only if the session has seen the
 * whole file.
 */
function receipt(result: ReadResult): string {
  const { path, from, to, totalLines, revision, sizeBytes } = result;
  const total = totalLines === undefined ? `a ${byteSize(sizeBytes)} file` : String(totalLines);
  const proof = revision === undefined ? '' : ` revision ${revision}`;
  return `[read ${pathText(path)} lines ${from}-${to} of ${total}${proof}]`;
}

function notes(result: ReadResult): string[] {
  if (result.to === 0) return ['(the file is empty)'];
  const { clamped, encoding } = result;
  const lines: string[] = [];
  if (encoding.startsWith('utf-16')) lines.push(`(the file is ${encoding}; changes keep that encoding)`);
  else if (encoding !== 'utf-8')
    lines.push(`(the file is ${encoding}; edits keep that encoding, a whole write is UTF-8)`);
  if (clamped.length > 0) {
    const cut = lineWords(clamped.map((line) => ({ from: line, to: line })));
    lines.push(`(${cut}: only the beginning is shown, and reading again will not show more)`);
  }
  return lines;
}

/** The text for several files, each in the form of a single read. A refused file is replaced by an explanation. */
export function manyText({ files }: Results['read-many'], context: RenderContext): Rendered {
  const shown = files.map(({ outcome }): Rendered => {
    if (!outcome.ok) return explain(outcome.refusal, context);
    return outcome.media === undefined ? styledText(outcome, RECEIPT_STYLE, context) : notText(outcome);
  });
  if (shown.every((one) => typeof one === 'string')) return shown.join('\n\n');
  return shown.flatMap((one) => (typeof one === 'string' ? [{ type: 'text' as const, text: one }] : one));
}

/** Shows images and audio, and describes everything else that is not text. */
function notText(result: ReadResult): Rendered {
  const { path, sizeBytes, media } = result;
  const mimeType = media?.mimeType ?? 'application/octet-stream';
  const text =
    `${pathText(path)} is not text: ${mimeType}, ${byteSize(sizeBytes)}. It can be moved or deleted, not edited.\n` +
    `[read ${pathText(path)} as ${mimeType}, ${sizeBytes} bytes]`;
  const block = media?.base64 === undefined ? undefined : mediaBlock(mimeType, media.base64);
  return block === undefined ? text : [{ type: 'text', text }, block];
}

function mediaBlock(mimeType: string, data: string): ContentBlock | undefined {
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  return mimeType.startsWith('audio/') ? { type: 'audio', data, mimeType } : undefined;
}
