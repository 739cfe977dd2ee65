import { isRecord, type JsonRecord } from '../../model/record.ts';
import type { ArgumentIs, Rule } from './table.ts';

/** The arguments of a tool call. */
export type Arguments = JsonRecord;

/** What one application of a rule sees. */
export interface Scope {
  /** All arguments, or those of an item with the call's own behind them. */
  readonly values: Arguments;
  /** The item, where the rule holds for each of an array. */
  readonly item?: { readonly each: string; readonly index: number; readonly value: unknown };
}

/** The arguments a rule applies to: none, the call's own, or those of each item. */
export function scopesOf(rule: Rule, args: Arguments): Scope[] {
  const { each } = rule;
  if (each === undefined) return applies(rule, args, {}) ? [{ values: args }] : [];
  const scopes: Scope[] = [];
  for (const [index, value] of itemsOf(args[each]).entries())
    if (applies(rule, args, isRecord(value) ? value : {}))
      scopes.push({ values: within(args, value), item: { each, index, value } });
  return scopes;
}

/** Where in the call's arguments the value stands that a scope has under a name: names and positions, outermost first. */
export function whereIs({ item }: Scope, name: string): readonly (string | number)[] {
  if (item === undefined) return [name];
  const { each, index, value } = item;
  if (isRecord(value)) return Object.hasOwn(value, name) ? [each, index, name] : [name];
  return name === '.' ? [each, index] : [name];
}

/** Whether a condition holds for a call and, where it asks for that, for the item. */
export function holds(condition: ArgumentIs, args: Arguments, item: Arguments): boolean {
  const value = (condition.inItem === true ? item : args)[condition.argument];
  if (condition.is === undefined) return value !== undefined && value !== null;
  return condition.is.some((wanted) => wanted === value);
}

function applies(rule: Rule, args: Arguments, item: Arguments): boolean {
  if (rule.when !== undefined && !holds(rule.when, args, item)) return false;
  return rule.unless === undefined || !holds(rule.unless, args, item);
}

function within(args: Arguments, item: unknown): Arguments {
  return isRecord(item) ? { ...args, ...item } : { ...args, '.': item };
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
