import { type Node, type ParseError, parseTree } from 'jsonc-parser';
import { parse as parseToml, type TomlValue } from 'smol-toml';

/** A value of a settings file. An object keeps members with equal keys. */
export type SettingsValue = string | number | boolean | null | readonly SettingsValue[] | Members;

interface Members {
  readonly members: readonly (readonly [key: string, value: SettingsValue])[];
}

/** A parsed settings file. */
export interface Settings {
  /** Undefined for a file without a value. */
  readonly value: SettingsValue | undefined;
  /** False if the text has a mistake. Some clients then ignore the file, others read what they can. */
  readonly isValid: boolean;
}

/** Parses JSON, with comments and trailing commas, or TOML. */
export function parseSettingsText(text: string, format: 'json' | 'toml'): Settings {
  const plain = text.replace(/^\uFEFF/, '');
  return format === 'json' ? fromJson(plain) : fromToml(plain);
}

function fromJson(text: string): Settings {
  const mistakes: ParseError[] = [];
  const tree = parseTree(text, mistakes, { allowTrailingComma: true, allowEmptyContent: true });
  return { value: tree && ofNode(tree), isValid: mistakes.length === 0 };
}

function ofNode(node: Node): SettingsValue {
  if (node.type === 'array') return (node.children ?? []).map(ofNode);
  if (node.type !== 'object') return scalarOf(node.value);
  const members = (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key === undefined ? [] : [[String(key.value), value === undefined ? null : ofNode(value)] as const],
  );
  return { members };
}

function scalarOf(value: unknown): SettingsValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

function fromToml(text: string): Settings {
  try {
    return { value: ofToml(parseToml(text)), isValid: true };
  } catch {
    return { value: undefined, isValid: false };
  }
}

function ofToml(value: TomlValue): SettingsValue {
  if (Array.isArray(value)) return value.map(ofToml);
  if (value instanceof Date || typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return value;
  return { members: Object.entries(value).map(([key, inner]) => [key, ofToml(inner)] as const) };
}

/** A text that is equal for equal values. The order of keys does not matter. */
export function canonical(value: SettingsValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isMembers(value)) return JSON.stringify(value);
  const parts = value.members.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`);
  return `{${parts.sort().join()}}`;
}

export function isMembers(value: SettingsValue): value is Members {
  return typeof value === 'object' && value !== null && 'members' in value;
}
