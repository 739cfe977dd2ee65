import type { LineRange } from '../model/coverage.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';

/** Words that all dialects share; whoever renders brings them along, with the moment they are said in. */
export interface Words {
  /** The workspace's roots. */
  readonly roots: readonly string[];
  /** A path in a sentence: as given, but quoted if it could pass for more than a path. */
  path(path: string): string;
  /** `12 KB` */
  size(bytes: number): string;
  /** `3 minutes ago` */
  ago(ms: number): string;
  /** `lines 1-20, 40` */
  lines(ranges: readonly LineRange[]): string;
  /** One text per notice that has something to tell. */
  notices(notices: readonly Notice[], path: string): readonly string[];
  /** A refusal in full. */
  refusal(refusal: Refusal): string;
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
