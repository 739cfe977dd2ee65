import type { Rule } from '../dialect/calls/table.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import type { ToolNames } from '../report/tool-names.ts';
import type { Whereabouts } from './bearings.ts';
import type { Catalogue } from './catalogue.ts';
import type { ProxyTurns } from './turns.ts';
import { isUnknownTool, unknownToolText } from './unknown-refusal.ts';
import type { AskedOnce, UnknownTools } from './unknown-tools.ts';
import type { Witnesses } from './witnesses.ts';

/** The options of the gate for tool calls. */
export interface InterceptOptions {
  /** The session of a request, by its `_meta`. */
  session(meta: JsonRecord): ForeignSession | Promise<ForeignSession>;
  readonly catalogue: Catalogue;
  /** The wording of refusals. */
  readonly wording: PresetName;
  readonly unknownTools: UnknownTools;
  /** Which typographic quotes are straightened in forwarded texts. */
  readonly quotes: Policy['quotes'];
  readonly where: Whereabouts;
  /** Adds a receipt to read results. */
  readonly receipts: boolean;
  readonly shared: Shared;
  log(text: string): void;
}

/** State that all connections to one workspace share, so that they take turns and see each other's reads. */
interface Shared {
  readonly turns: ProxyTurns;
  readonly asked: AskedOnce;
  readonly witnesses: Witnesses;
}

/**
 * Renders a refusal with the upstream's tool names. If the upstream has its own sentence for the
 * case, that comes first.
 */
export function inWords(
  refusal: Refusal,
  options: Pick<InterceptOptions, 'wording' | 'catalogue'>,
  tool = '',
): string {
  if (isUnknownTool(refusal)) return unknownToolText(refusal);
  const { catalogue, wording } = options;
  const rules = catalogue.rulesOf(tool) ?? [];
  const tools = inArgumentsOf(rules, catalogue.words);
  const text = explain(refusal, { nowMs: Date.now(), tools, wording });
  const rule = rules.find(({ does }) => does === 'move');
  if (refusal.code !== 'ALREADY_EXISTS' || rule?.does !== 'move' || rule.taken === undefined) return text;
  return `${rule.taken.replace('PATH', () => refusal.path)}\n${text}`;
}

/** The server's words, with the argument names of the called tool. */
function inArgumentsOf(rules: readonly Rule[], words: ToolNames): ToolNames {
  const rule = rules.find(({ does }) => does === 'edit');
  const names = rule?.does === 'edit' ? [rule.edit.old].flat() : [];
  const [oldText] = names;
  return oldText === undefined ? words : { ...words, arguments: { ...words.arguments, oldText } };
}
