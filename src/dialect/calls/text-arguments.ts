import { isRecord } from '../../model/record.ts';
import { type Arguments, givenName, type RuleScope, scopesOf, targetOf, textIn } from './rule-scope.ts';
import type { Rule } from './table.ts';

/** A text that a call writes into a file. */
export interface TextArgument {
  /** Property names and array indexes that lead to the text, outermost first. */
  readonly at: readonly (string | number)[];
  /** The file, as the call names it. */
  readonly path: string;
  readonly text: string;
  /** `whole`: the text is the whole file. */
  readonly extent: 'whole' | 'part';
}

/** The new texts of a call, and their positions among its arguments. Edits sent as JSON text are skipped. */
export function textArguments(rules: readonly Rule[], args: Arguments): TextArgument[] {
  return rules.flatMap((rule) => scopesOf(rule, args).flatMap((scope) => textsOf(rule, scope)));
}

function textsOf(rule: Rule, scope: RuleScope): TextArgument[] {
  if (rule.does !== 'write' && rule.does !== 'insert' && rule.does !== 'edit') return [];
  const path = textIn(scope.values, rule.path);
  if (path === undefined) return [];
  if (rule.does !== 'edit') {
    const extent = rule.does === 'write' ? 'whole' : 'part';
    return textAt(scope.values, rule.content, (name) => targetOf(scope, name)).map((text) => ({
      ...text,
      path,
      extent,
    }));
  }
  const { each, new: replacement } = rule.edit;
  const items = each === undefined ? [scope.values] : scope.values[each];
  return (Array.isArray(items) ? items : []).flatMap((item: unknown, index) => {
    const at = (name: string): readonly (string | number)[] =>
      each === undefined ? targetOf(scope, name) : [...targetOf(scope, each), index, name];
    const found = isRecord(item) ? textAt(item, replacement, at) : [];
    return found.map((text) => ({ ...text, path, extent: 'part' as const }));
  });
}

function textAt(
  values: Arguments,
  names: Parameters<typeof givenName>[1],
  at: (name: string) => readonly (string | number)[],
): Pick<TextArgument, 'at' | 'text'>[] {
  const name = givenName(values, names);
  const text = name === undefined ? undefined : values[name];
  return name === undefined || typeof text !== 'string' ? [] : [{ at: at(name), text }];
}
