import type { PresetName } from '../model/policy.ts';
import type { ToolNames } from '../report/tool-names.ts';

/** What a dialect needs besides a result to tell it: the workspace, the wording and the moment. */
export interface RenderContext {
  /** The workspace's roots. */
  readonly roots: readonly string[];
  /** What refusals call the tools. */
  readonly tools: ToolNames;
  readonly wording: PresetName;
  /** The current time, for "3 minutes ago". */
  readonly nowMs: number;
}

/** A block of a tool's answer, in the protocol's shape. */
export type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource';
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string };
    };

/** What a tool answers: one text, or blocks. */
export type Rendered = string | readonly Block[];
