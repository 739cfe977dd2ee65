import type { JsonRecord } from '../dialect/servers/json-value.ts';
import type { PresetName } from '../model/policy.ts';
import type { Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import type { Catalogue } from './catalogue.ts';
import type { ForeignSession } from './foreign-session.ts';
import { isUnknownTool, unknownToolText } from './unknown-refusal.ts';
import type { UnknownTools } from './unknown-tools.ts';

/** What an interception works with. */
export interface InterceptOptions {
  /** The session a request belongs to, by its `_meta`. */
  session(meta: JsonRecord): ForeignSession | Promise<ForeignSession>;
  readonly catalogue: Catalogue;
  /** Whose sentences refusals speak. */
  readonly wording: PresetName;
  readonly unknownTools: UnknownTools;
  /** The upstream's working directory. */
  readonly cwd: string;
  /** Adds a receipt to what was read. */
  readonly receipts: boolean;
  log(text: string): void;
}

/** A refusal in sentences that name the upstream's own tools. */
export function inWords(refusal: Refusal, options: Pick<InterceptOptions, 'wording' | 'catalogue'>): string {
  if (isUnknownTool(refusal)) return unknownToolText(refusal);
  return explain(refusal, { nowMs: Date.now(), tools: options.catalogue.words, wording: options.wording });
}
