import type { PresetName } from '../model/policy.ts';
import type { ReadResult } from '../model/results.ts';
import type { ToolNames } from '../report/tool-names.ts';
import { numberLines, viewOf } from '../text/lines.ts';

/** The data that a dialect needs to render a result: the workspace, the wording and the time. */
export interface RenderContext {
  /** The root folders of the workspace. */
  readonly roots: readonly string[];
  /** The tool names that refusals use. */
  readonly tools: ToolNames;
  readonly wording: PresetName;
  /** The current time, for "3m ago". */
  readonly nowMs: number;
}

/** A block of a tool's answer, in the format of MCP. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource';
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string };
    };

/** A tool's answer: one text, or blocks. */
export type Rendered = string | readonly ContentBlock[];

/** The note for a search that could not read everything. */
export const UNREADABLE = 'some files or folders could not be read, or their names are not UTF-8';

/**
 * The way in which a dialect (a set of tools) shows a file. `lines` and `foot` are separate, so
 * that the server can copy the bytes of the lines without decoding them.
 */
export interface ReadStyle {
  /**
   * `numbered`: `N<TAB>line`; `raw`: exactly as in the file; `joined`: like `raw`, without a newline
   * after the last line.
   */
  readonly lines: 'numbered' | 'raw' | 'joined';
  /** The text after the lines, including a newline before it if needed. */
  foot(result: ReadResult, context: RenderContext): string;
  /** Set if the tool shows only text, and refuses other files. */
  readonly textOnly?: true;
  /** The rendering of a file that is not text. */
  other(result: ReadResult, context: RenderContext): Rendered;
}

/** A file's lines and the text after them, as one text. */
export function styledText(result: ReadResult, style: ReadStyle, context: RenderContext): string {
  const foot = style.foot(result, context);
  if (style.lines === 'joined') return result.text.replace(/\n$/, '') + foot;
  if (style.lines === 'raw') return rawText(result) + foot;
  if (result.to === 0) return result.text + foot;
  return numberLines(result.text, result.from, foot);
}

/**
 * The shown lines as text. Unlike `text`, this includes the byte order mark of a UTF-8 file, if it
 * has one.
 */
function rawText({ bytes, encoding, text }: ReadResult): string {
  return bytes === undefined || encoding !== 'utf-8' ? text : viewOf(bytes).toString('utf8');
}
