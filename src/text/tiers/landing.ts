import type { MatchTier } from '../../model/results.ts';
import type { Span } from '../lines.ts';

/** What an edit replaces by what. */
export interface Texts {
  readonly oldString: string;
  readonly newString: string;
}

/** The one place where an edit lands although its text is not there exactly, and the new text as it belongs there. */
export interface Landing {
  readonly tier: MatchTier;
  readonly span: Span;
  readonly replacement: string;
}

/** Places between which an edit cannot choose. */
export interface Rivals {
  readonly spans: readonly Span[];
}
