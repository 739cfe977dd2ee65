import { eolOf } from './edit.ts';

/** A JSON value to be written. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The layout of a file, so that additions look like the rest. */
export interface JsonStyle {
  readonly eol: string;
  /** One level of indentation. */
  readonly unit: string;
}

/**
 * Detects the layout from the first line ending and the first indented key. Without an indented
 * key, a level is two spaces.
 */
export function styleOf(text: string): JsonStyle {
  return { eol: eolOf(text), unit: /\n([ \t]+)"/.exec(text)?.[1] ?? '  ' };
}

/**
 * Formats objects over several lines and arrays on one line. `indent`: the indentation of the line
 * in which the value begins.
 */
export function pretty(value: JsonValue, style: JsonStyle, indent: string): string {
  if (!isObject(value) || Object.keys(value).length === 0) return compact(value);
  const inner = indent + style.unit;
  const members = Object.entries(value).map(
    ([key, member]) => `${inner}${JSON.stringify(key)}: ${pretty(member, style, inner)}`,
  );
  return `{${style.eol}${members.join(`,${style.eol}`)}${style.eol}${indent}}`;
}

/** Formats a value on one line, with a space after commas and colons. */
export function compact(value: JsonValue): string {
  if (isList(value)) return `[${value.map(compact).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${compact(member)}`);
  return `{${members.join(', ')}}`;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !isList(value);
}
