import type { ArgumentName, Rule } from '../dialect/calls/table.ts';
import type { Refusal } from '../model/verdict.ts';
import { explain } from '../report/explain.ts';
import { inTermsOf, type ToolNames } from '../report/tool-names.ts';
import type { ProxyCall } from './call.ts';
import type { GateSettings } from './gate-settings.ts';
import { isUnknownTool, unknownToolText } from './unknown-refusal.ts';

/**
 * Renders a refusal with the upstream's tool names. If the upstream has its own error message for
 * the case, that comes first.
 */
export function inWords(
  refusal: Refusal,
  settings: Pick<GateSettings, 'wording' | 'catalogue' | 'where'>,
  call?: Pick<ProxyCall, 'tool' | 'meaning'>,
): string {
  if (isUnknownTool(refusal)) return unknownToolText(refusal);
  const { catalogue, wording } = settings;
  const rules = catalogue.rulesOf(call?.tool ?? '') ?? [];
  const terms = argumentsOf(rules);
  const tools = withOldText(catalogue.words, terms['old_string']);
  const text = explain(inTermsOf(terms, refusal), { nowMs: Date.now(), tools, wording });
  const rule = rules.find(({ does }) => does === 'move');
  const own =
    refusal.code === 'ALREADY_EXISTS' && rule?.does === 'move'
      ? rule.taken
      : catalogue.table?.sentences?.[refusal.code];
  if (own === undefined) return text;
  const values = { PATH: refusal.path, ROOT: settings.where.root, TEXT: oldTextOf(refusal, call) };
  return `${own.replace(/PATH|ROOT|TEXT/g, (name) => values[name as keyof typeof values] ?? '')}\n${text}`;
}

/** The old text of the refused edit; empty if the call makes no edit. */
function oldTextOf({ detail }: Refusal, call: Pick<ProxyCall, 'meaning'> | undefined): string {
  for (const touch of call?.meaning.touches ?? []) {
    if (touch.does === 'change' && touch.intent.kind === 'edit')
      return touch.intent.edits[detail?.index ?? 0]?.oldString ?? '';
  }
  return '';
}

/** Maps the argument names of Lookfirst's own edits and inserts to those of the called tool. */
function argumentsOf(rules: readonly Rule[]): Readonly<Record<string, string>> {
  const terms: Record<string, string> = {};
  const name = (ours: string, theirs: ArgumentName | undefined): void => {
    const [first] = theirs === undefined ? [] : [theirs].flat();
    if (first !== undefined) terms[ours] = first;
  };
  for (const rule of rules) {
    if (rule.does === 'edit') {
      name('old_string', rule.edit.old);
      name('new_string', rule.edit.new);
      name('replace_all', rule.edit.all);
    }
    if (rule.does === 'insert') name('after_line', rule.after?.argument);
  }
  return terms;
}

function withOldText(words: ToolNames, oldText: string | undefined): ToolNames {
  return oldText === undefined ? words : { ...words, arguments: { ...words.arguments, oldText } };
}
