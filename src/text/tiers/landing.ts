import type { MatchTier } from '../../model/results.ts';
import type { Span } from '../lines.ts';

/** The old and the new text of an edit. */
export interface Texts {
  readonly oldString: string;
  readonly newString: string;
}

/** The only place of an edit that does not match exactly, and the new text adapted to that place. */
export interface Landing {
  readonly tier: MatchTier;
  readonly span: Span;
  readonly replacement: string;
}

/** Several places for an edit, none of which can be chosen. */
export interface Rivals {
  readonly spans: readonly Span[];
}
