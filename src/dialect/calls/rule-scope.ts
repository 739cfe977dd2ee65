import { fieldOf, isRecord, type JsonRecord, parseJson } from '../../model/record.ts';
import type { ArgumentName, Rule } from './table.ts';

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
  readonly item?: ListItem;
}

interface ListItem {
  /**
   * Property names and indexes that lead to the item, outermost first. If the first property is
   * JSON text, the others are positions in the parsed text.
   */
  readonly at: readonly (string | number)[];
  readonly value: unknown;
}

/**
 * The arguments to which a rule applies. A rule for each item of an array gets one set per item;
 * other rules get the arguments of the call. Empty if the rule's conditions are not met.
 */
export function scopesOf(rule: Rule, args: Arguments): RuleScope[] {
  const { each } = rule;
  if (each === undefined) return applies(rule, args, {}) ? [{ values: args }] : [];
  const scopes: RuleScope[] = [];
  for (const item of listItems(args[each], [each]))
    if (applies(rule, args, isRecord(item.value) ? item.value : {}))
      scopes.push({ values: within(args, item.value), item });
  return scopes;
}

/**
 * The items of an argument that should be an array. Some servers also accept JSON text, a single
 * item, arrays in the array, or an object with numbered keys.
 */
function listItems(value: unknown, at: ListItem['at']): ListItem[] {
  const given = fromJsonText(value);
  if (given === undefined || given === null) return [];
  const isList = Array.isArray(given) || (isRecord(given) && Object.keys(given).every(isIndex));
  if (!isList) return [{ at, value: given }];
  return Object.entries(given).flatMap(([key, item]) => {
    const place = [...at, Array.isArray(given) ? Number(key) : key];
    return Array.isArray(item) ? listItems(item, place) : [{ at: place, value: item }];
  });
}

/** Parses JSON text that contains an array or an object. Returns any other value unchanged. */
export function fromJsonText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  const parsed = parseJson(value);
  return typeof parsed === 'object' && parsed !== null ? parsed : value;
}

function isIndex(key: string): boolean {
  return /^\d+$/.test(key);
}

/** The position of a named value in the call's arguments: property names and indexes, outermost first. */
function targetOf({ item }: RuleScope, name: string): readonly (string | number)[] {
  const steps = isNested(name) ? name.split('.') : [name];
  if (item === undefined) return steps;
  const { at, value } = item;
  if (name === '.') return at;
  return isRecord(value) && Object.hasOwn(value, steps[0] ?? '') ? [...at, ...steps] : steps;
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

/** The text of an argument: the first string among the values under its names. Undefined if there is none. */
export function textIn(scope: Arguments, name: ArgumentName): string | undefined {
  for (const one of typeof name === 'string' ? [name] : name) {
    const value = lookUp(scope, one);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

/**
 * Every path that an argument may contain. Servers may accept other forms than a single text, so
 * this includes the values under all names of the argument, and texts in arrays, in objects and in
 * JSON text.
 */
export function everyPathIn(scope: Arguments, name: ArgumentName): string[] {
  const values = [name].flat().map((one) => lookUp(scope, one));
  const isGivenAtAll = values.some(isGiven);
  // If no name has a value, the array item itself (`.`) may be the path: a server may accept a text
  // in place of an object with a path.
  return [...new Set(isGivenAtAll ? values.flatMap(pathsIn) : pathsIn(textIn(scope, '.')))];
}

function pathsIn(value: unknown): string[] {
  const given = fromJsonText(value);
  if (typeof given === 'string') return [given];
  if (Array.isArray(given)) return given.flatMap(pathsIn);
  if (!isRecord(given)) return [];
  return Object.entries(given).flatMap(([key, inner]) => (PATH_KEY.test(key) ? pathsIn(inner) : []));
}

/** Matches the keys of an object under which servers expect a path. */
const PATH_KEY = /path|file|dir|folder|name|ur[il]|^\d+$/i;

/**
 * Copies of the arguments in which an argument also has the name that the rules use. Makes one copy
 * for each argument whose name differs from the rules' name only in case, `_`, `-` and dots, such
 * as `filePath` for `file_path`. Some servers accept such names, so the rules must apply to them
 * too.
 */
export function respelled(rules: readonly Rule[], args: Arguments): Arguments[] {
  const known = new Set(rules.flatMap((rule) => [rule.each ?? [], ...pathNames(rule)].flat()));
  const unknown = Object.keys(args).filter((key) => !known.has(key));
  if (unknown.length === 0) return [];
  const names = new Map([...known].map((name) => [plainName(name), name]));
  return unknown.flatMap((key) => {
    const name = names.get(plainName(key));
    return name === undefined ? [] : [{ ...args, [name]: args[key] }];
  });
}

/** An argument's name in lower case, without `_`, `-` and dots, because servers spell names differently. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_\-.]/g, '');
}

/**
 * True if a condition holds. The condition tests an argument of the call or, with `inItem`, a field
 * of the array item.
 */
export function conditionHolds(
  condition: NonNullable<Rule['when']>,
  args: Arguments,
  item: Arguments,
): boolean {
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
  return isRecord(item) ? { ...args, ...item, '.': item } : { ...args, '.': item };
}

function lookUp(scope: Arguments, name: string): unknown {
  return isNested(name) ? fieldOf(scope, name) : scope[name];
}

/** True if a name selects a field of a nested object. */
function isNested(name: string): boolean {
  return name.length > 1 && name.includes('.');
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A string in a call: a path, or a text that the call writes into a file. */
export type StringArgument = {
  /** Property names and array indexes that lead to the string, outermost first; see `ListItem`. */
  readonly at: readonly (string | number)[];
  readonly value: string;
} & (
  | { readonly is: 'path' }
  | {
      readonly is: 'text';
      /** The file, as the call names it. */
      readonly path: string;
      /** `whole`: the text becomes the whole file. `part`: the text becomes a part of the file. */
      readonly extent: 'whole' | 'part';
    }
);

/**
 * The paths of a call and the texts that it writes, with their positions among the arguments. Skips
 * two kinds of values in `look` rules: an empty path, and a value that may be a name known only to
 * the server. The server gets both unchanged. Also skips edits sent as JSON text.
 */
export function stringArguments(rules: readonly Rule[], args: Arguments): StringArgument[] {
  const found: StringArgument[] = [];
  for (const rule of rules)
    for (const scope of scopesOf(rule, args)) {
      for (const names of pathNames(rule)) {
        const path = stringAt(scope.values, names, (name) => targetOf(scope, name));
        if (path !== undefined && namesAPlace(rule, path.value)) found.push({ ...path, is: 'path' });
      }
      found.push(...textsOf(rule, scope));
    }
  return found;
}

/** The names of the arguments that contain a rule's paths. */
export function pathNames(rule: Rule): readonly ArgumentName[] {
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

function textsOf(rule: Rule, scope: RuleScope): StringArgument[] {
  if (rule.does !== 'write' && rule.does !== 'insert' && rule.does !== 'edit') return [];
  const path = textIn(scope.values, rule.path);
  if (path === undefined) return [];
  const extent = rule.does === 'write' ? 'whole' : 'part';
  const textAt = (...[values, names, at]: Parameters<typeof stringAt>): StringArgument[] => {
    const text = stringAt(values, names, at);
    return text === undefined ? [] : [{ ...text, is: 'text', path, extent }];
  };
  if (rule.does !== 'edit') return textAt(scope.values, rule.content, (name) => targetOf(scope, name));
  const { each, new: replacement } = rule.edit;
  if (each === undefined) return textAt(scope.values, replacement, (name) => targetOf(scope, name));
  const items = scope.values[each];
  return (Array.isArray(items) ? items : []).flatMap((item: unknown, index) =>
    isRecord(item) ? textAt(item, replacement, (name) => [...targetOf(scope, each), index, name]) : [],
  );
}

/** The string under one of an argument's names, and its position. Undefined if there is none. */
function stringAt(
  values: Arguments,
  names: ArgumentName,
  at: (name: string) => readonly (string | number)[],
): Pick<StringArgument, 'at' | 'value'> | undefined {
  const name = givenName(values, names);
  const value = name === undefined ? undefined : lookUp(values, name);
  return name === undefined || typeof value !== 'string' ? undefined : { at: at(name), value };
}
