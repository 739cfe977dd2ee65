import { fieldOf, isRecord, type JsonRecord } from '../../model/record.ts';
import type { ArgumentIs, ArgumentName, Rule } from './table.ts';

/** The arguments of a tool call. */
export type Arguments = JsonRecord;

/** The arguments for one application of a rule. */
export interface RuleScope {
  /** All arguments; for an item, its fields first and then the call's. */
  readonly values: Arguments;
  /** The item, if the rule applies to each element of an array. */
  readonly item?: { readonly each: string; readonly index: number; readonly value: unknown };
}

/** The arguments a rule applies to: none, the call's own, or those of each item. */
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
export function targetOf({ item }: RuleScope, name: string): readonly (string | number)[] {
  if (item === undefined) return [name];
  const { each, index, value } = item;
  if (isRecord(value)) return Object.hasOwn(value, name) ? [each, index, name] : [name];
  return name === '.' ? [each, index] : [name];
}

/** The first of an argument's names that the call uses; null counts as absent. */
export function givenName(scope: Arguments, name: ArgumentName): string | undefined {
  if (typeof name === 'string') return isGiven(lookUp(scope, name)) ? name : undefined;
  for (const one of name) if (isGiven(lookUp(scope, one))) return one;
  return undefined;
}

/** The value of an argument; undefined if it is absent. */
export function argumentIn(scope: Arguments, name: ArgumentName | undefined): unknown {
  const given = name === undefined ? undefined : givenName(scope, name);
  return given === undefined ? undefined : lookUp(scope, given);
}

/** The text of an argument: the first of its names whose value is a string. */
export function textIn(scope: Arguments, name: ArgumentName): string | undefined {
  for (const one of typeof name === 'string' ? [name] : name) {
    const value = lookUp(scope, one);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

/** Whether a condition holds for a call, or for the item if the condition names a field of it. */
export function conditionHolds(condition: ArgumentIs, args: Arguments, item: Arguments): boolean {
  const value = argumentIn(condition.inItem === true ? item : args, condition.argument);
  if (condition.is === undefined) return value !== undefined;
  return condition.is.some((wanted) => wanted === value);
}

/** The items of an array argument. Some models send the array as JSON text, and some servers accept that. */
export function itemsOf(value: unknown): readonly unknown[] {
  const list = typeof value === 'string' && value.trimStart().startsWith('[') ? parsed(value) : value;
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function lookUp(scope: Arguments, name: string): unknown {
  return name.length > 1 && name.includes('.') ? fieldOf(scope, name) : scope[name];
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
