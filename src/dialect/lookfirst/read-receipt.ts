import type { ReadResult } from '../../model/results.ts';
import type { ReadStyle } from '../read-style.ts';
import type { Block, Rendered, Words } from '../words.ts';

/** Numbered lines, then one receipt line that says what was shown. */
export const RECEIPT_STYLE: ReadStyle = {
  lines: 'numbered',
  foot: (result, words) => {
    const rows = [...notes(result, words), receipt(result, words)];
    return result.to === 0 ? rows.join('\n') : `\n${rows.join('\n')}`;
  },
  other: notText,
};

/** `[read PATH lines A-B of N revision R]`; the revision only once the session has seen the whole file. */
function receipt(result: ReadResult, words: Words): string {
  const { path, from, to, totalLines, revision, sizeBytes } = result;
  const total = totalLines === undefined ? `a ${words.size(sizeBytes)} file` : String(totalLines);
  const proof = revision === undefined ? '' : ` revision ${revision}`;
  return `[read ${words.path(path)} lines ${from}-${to} of ${total}${proof}]`;
}

function notes(result: ReadResult, words: Words): string[] {
  if (result.to === 0) return ['(the file is empty)'];
  const { clamped, encoding } = result;
  const lines: string[] = [];
  if (encoding !== 'utf-8')
    lines.push(`(the file is ${encoding}; edits keep that encoding, a whole write is UTF-8)`);
  if (clamped.length > 0) {
    const cut = words.lines(clamped.map((line) => ({ from: line, to: line })));
    lines.push(`(${cut}: only the beginning is shown, and reading again will not show more)`);
  }
  return lines;
}

/** Images and audio are shown, everything else that is not text is described. */
function notText(result: ReadResult, words: Words): Rendered {
  const { path, sizeBytes, media } = result;
  const mimeType = media?.mimeType ?? 'application/octet-stream';
  const text =
    `${words.path(path)} is not text: ${mimeType}, ${words.size(sizeBytes)}. It can be moved or deleted, not edited.\n` +
    `[read ${words.path(path)} as ${mimeType}, ${sizeBytes} bytes]`;
  const block = media?.base64 === undefined ? undefined : mediaBlock(mimeType, media.base64);
  return block === undefined ? text : [{ type: 'text', text }, block];
}

function mediaBlock(mimeType: string, data: string): Block | undefined {
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  return mimeType.startsWith('audio/') ? { type: 'audio', data, mimeType } : undefined;
}
