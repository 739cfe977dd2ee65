import type { PresetName } from '../model/policy.ts';
import type { ToolNames } from '../report/tool-names.ts';

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
