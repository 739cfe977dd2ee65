import { fieldOf, isRecord, type JsonRecord, parseJson } from '../../model/record.ts';
import type { ArgumentIs, ArgumentName, Rule } from './table.ts';

/** The arguments of a tool call. */
export type Arguments = JsonRecord;

/** The arguments that one rule is applied to. */
interface RuleScope {
  /**
   * All arguments for the rule. If the rule applies to each item of an array, the item's fields
   * take precedence over the arguments of the call.
   */
  readonly values: Arguments;
  /** The array item to which the rule applies; undefined if the rule applies to the whole call. */
  readonly item?: { readonly each: string; readonly index: number; readonly value: unknown };
}

/**
 * The arguments to which a rule applies. A rule for each item of an array gets one set per item;
 * other rules get the arguments of the call. Empty if the rule's conditions are not met.
 */
export function scopesOf(rule: Rule, args: Arguments): RuleScope[] {
  const { each } = rule;
  if (each === undefined) return applies(rule, args, {}) ? [{ values: args }] : [];
  const scopes: RuleScope[] = [];
  const list = args[each];
  for (const [index, value] of (Array.isArray(list) ? list : []).entries())
    if (applies(rule, args, isRecord(value) ? value : {}))
      scopes.push({ values: within(args, value), item: { each, index, value } });
  return scopes;
}

/** The position of a named value in the call's arguments: property names and indexes, outermost first. */
function targetOf({ item }: RuleScope, name: string): readonly (string | number)[] {
  if (item === undefined) return [name];
  const { each, index, value } = item;
  if (isRecord(value)) return Object.hasOwn(value, name) ? [each, index, name] : [name];
  return name === '.' ? [each, index] : [name];
}

/** The first of an argument's names that the call uses; null counts as absent. */
function givenName(scope: Arguments, name: ArgumentName): string | undefined {
  if (typeof name === 'string') return isGiven(lookUp(scope, name)) ? name : undefined;
  for (const one of name) if (isGiven(lookUp(scope, one))) return one;
  return undefined;
}

/** The value of an argument; undefined if it is absent. */
export function argumentIn(scope: Arguments, name: ArgumentName | undefined): unknown {
  const given = name === undefined ? undefined : givenName(scope, name);
  return given === undefined ? undefined : lookUp(scope, given);
}

/** The text of an argument: the value of the first of its names that has a string as its value. */
export function textIn(scope: Arguments, name: ArgumentName): string | undefined {
  for (const one of typeof name === 'string' ? [name] : name) {
    const value = lookUp(scope, one);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

/**
 * True if a condition holds. The condition tests an argument of the call or, with `inItem`, a field
 * of the array item.
 */
export function conditionHolds(condition: ArgumentIs, args: Arguments, item: Arguments): boolean {
  const value = argumentIn(condition.inItem === true ? item : args, condition.argument);
  if (condition.is === undefined) return value !== undefined;
  return condition.is.some((wanted) => wanted === value);
}

/**
 * The items of an array argument; none if the value is not an array. Also parses an array that is
 * sent as JSON text: some models do that, and some servers accept it.
 */
export function itemsOf(value: unknown): readonly unknown[] {
  const list = typeof value === 'string' && value.trimStart().startsWith('[') ? parseJson(value) : value;
  return Array.isArray(list) ? list : [];
}

function applies(rule: Rule, args: Arguments, item: Arguments): boolean {
  const { when, unless } = rule;
  if (when !== undefined && !conditionHolds(when, args, item)) return false;
  if (unless === undefined) return true;
  return 'argument' in unless
    ? !conditionHolds(unless, args, item)
    : !unless.some((condition) => conditionHolds(condition, args, item));
}

function within(args: Arguments, item: unknown): Arguments {
  return isRecord(item) ? { ...args, ...item } : { ...args, '.': item };
}

function lookUp(scope: Arguments, name: string): unknown {
  return name.length > 1 && name.includes('.') ? fieldOf(scope, name) : scope[name];
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

interface PathArgument {
  /** Property names and array indexes that lead to the path, outermost first. */
  readonly at: readonly (string | number)[];
  readonly path: string;
}

/**
 * Every path in a call, and its position among the arguments. Skips two kinds of values in `look`
 * rules: an empty path, and a value that may be a name known only to the server. The server gets
 * both unchanged.
 */
export function pathArguments(rules: readonly Rule[], args: Arguments): PathArgument[] {
  const found: PathArgument[] = [];
  for (const rule of rules)
    for (const scope of scopesOf(rule, args))
      for (const names of pathNames(rule)) {
        const name = givenName(scope.values, names);
        const path = name === undefined ? undefined : scope.values[name];
        if (name !== undefined && typeof path === 'string' && namesAPlace(rule, path))
          found.push({ at: targetOf(scope, name), path });
      }
  return found;
}

function pathNames(rule: Rule): readonly ArgumentName[] {
  switch (rule.does) {
    case 'run':
    case 'patch':
    case 'unknown':
    case 'nothing':
      return [];
    case 'move':
    case 'copy':
      return [rule.source, rule.destination];
    default:
      return [rule.path];
  }
}

function namesAPlace(rule: Rule, path: string): boolean {
  return rule.does !== 'look' || (rule.orName !== true && path !== '');
}

/** A text that a call writes into a file. */
interface TextArgument {
  /** Property names and array indexes that lead to the text, outermost first. */
  readonly at: readonly (string | number)[];
  /** The file, as the call names it. */
  readonly path: string;
  readonly text: string;
  /** `whole`: the text becomes the whole file. `part`: the text becomes a part of the file. */
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
