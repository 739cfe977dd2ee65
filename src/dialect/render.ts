import type { PresetName } from '../model/policy.ts';
import type { ChangeResult, ReadResult } from '../model/results.ts';
import { byteSize, lineWords } from '../report/amounts.ts';
import { pathText } from '../report/bounded.ts';
import { noticeTexts } from '../report/describe-notice.ts';
import type { ToolNames } from '../report/tool-names.ts';
import { numberLines } from '../text/lines.ts';

/** What a dialect needs to render a result: the workspace, the wording and the time. */
export interface RenderContext {
  /** The workspace's roots. */
  readonly roots: readonly string[];
  /** The tool names that refusals use. */
  readonly tools: ToolNames;
  readonly wording: PresetName;
  /** The current time, for "3 minutes ago". */
  readonly nowMs: number;
}

/** A block of a tool's answer, in the protocol's format. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource';
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string };
    };

/** A tool's answer: one text, or blocks. */
export type Rendered = string | readonly ContentBlock[];

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

/**
 * How a dialect shows a file: its lines, then `foot`. Separate from text, so that lines can also be rendered from
 * bytes.
 */
export interface ReadStyle {
  /**
   * `numbered`: `N<TAB>line`; `padded`: like `numbered`, with right-aligned numbers; `raw`: exactly as in the file;
   * `joined`: like `raw`, without a newline after the last line.
   */
  readonly lines: 'numbered' | 'padded' | 'raw' | 'joined';
  /** The text after the lines, including a newline before it if needed. */
  foot(result: ReadResult, context: RenderContext): string;
  /** The rendering of a file that is not text. */
  other(result: ReadResult, context: RenderContext): Rendered;
}

/** A file's lines and foot as one text. */
export function styledText(result: ReadResult, style: ReadStyle, context: RenderContext): string {
  return linesText(result, style.lines) + style.foot(result, context);
}

function linesText(result: ReadResult, lines: ReadStyle['lines']): string {
  if (lines === 'joined') return result.text.replace(/\n$/, '');
  if (lines === 'raw' || result.to === 0) return result.text;
  const width = lines === 'padded' ? String(result.to).length : 0;
  return numberLines(result.text, result.from, width);
}
