import type { ForeignIntent } from '../../model/intent.ts';
import type { Shown } from './table.ts';

/** One thing a tool call will do. Paths are as the caller wrote them. */
export type Step =
  /** Stays inside the workspace; what it shows is not counted as seen. */
  | { readonly does: 'look'; readonly path: string }
  /** Shows every entry of a folder. */
  | { readonly does: 'list'; readonly path: string }
  | {
      readonly does: 'read';
      readonly path: string;
      /** Undefined: the whole file. */
      readonly asked: readonly AskedLines[] | undefined;
      readonly shown: Shown;
    }
  | { readonly does: 'change'; readonly intent: ForeignIntent }
  | { readonly does: 'run'; readonly command: string }
  /** Changes something, and nobody can say what. */
  | { readonly does: 'unknown' };

/** Lines that were asked for; negative numbers count from the end (-1 is the last line). `to` undefined: to the end. */
export interface AskedLines {
  readonly from: number;
  readonly to: number | undefined;
}

export type ReadStep = Extract<Step, { readonly does: 'read' }>;
