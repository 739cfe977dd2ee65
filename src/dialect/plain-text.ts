import type { ChangeResult, ReadResult } from '../model/results.ts';
import { byteSize, lineWords } from '../report/amounts.ts';
import { pathText } from '../report/bounded.ts';
import { noticeTexts } from '../report/describe-notice.ts';
import type { RenderContext } from './render.ts';

/** Answers of dialects that show neither receipts nor revisions. */

export function plainWrite(path: string, result: ChangeResult, context: RenderContext): string {
  return withNotices(`wrote ${result.sizeBytes} bytes to ${pathText(path)}`, path, { result, context });
}

export function plainEdit(path: string, result: ChangeResult, context: RenderContext): string {
  const done = `replaced ${result.replaced ?? 0} occurrence(s) in ${pathText(path)}`;
  return withNotices(done, path, { result, context });
}

export function plainInsert(path: string, result: ChangeResult, context: RenderContext): string {
  const lines = result.inserted === undefined ? 'nothing' : lineWords([result.inserted]);
  return withNotices(`inserted ${lines} into ${pathText(path)}`, path, { result, context });
}

function withNotices(
  done: string,
  path: string,
  { result, context }: { readonly result: ChangeResult; readonly context: RenderContext },
): string {
  return [done, ...noticeTexts(result.notices, path, context)].join('\n');
}

/**
 * The rows, and whether there are more. Without that note a model would assume that the rest does
 * not exist.
 */
export function rowsText(rows: readonly string[], { truncated }: { readonly truncated: boolean }): string {
  const more = truncated ? ['[there may be more: narrow the pattern or name a folder]'] : [];
  return [...rows, ...more].join('\n');
}

export function describedFile(result: ReadResult): string {
  const mimeType = result.media?.mimeType ?? 'application/octet-stream';
  return `${pathText(result.path)} is not text: ${mimeType}, ${byteSize(result.sizeBytes)}`;
}
