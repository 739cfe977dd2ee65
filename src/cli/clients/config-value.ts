/** A value of a client's configuration file, JSON or TOML. */
export type ConfigValue = string | number | boolean | null | readonly ConfigValue[] | ConfigTable;

/** An object of JSON or a table of TOML. */
export interface ConfigTable {
  readonly [key: string]: ConfigValue;
}

export function isTable(value: ConfigValue | undefined): value is ConfigTable {
  return typeof value === 'object' && value !== null && !isList(value);
}

export function isList(value: ConfigValue | undefined): value is readonly ConfigValue[] {
  return Array.isArray(value);
}

/** The value under these keys; undefined if one of them is missing. */
export function valueAt(value: ConfigValue | undefined, ...keys: readonly string[]): ConfigValue | undefined {
  return keys.reduce<ConfigValue | undefined>(
    (node, key) => (isTable(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    value,
  );
}

/** The table with a value under these keys. New keys come first. */
export function withValue(
  table: ConfigTable,
  [key = '', ...rest]: readonly string[],
  value: ConfigValue,
): ConfigTable {
  const inner = valueAt(table, key);
  const next = rest.length === 0 ? value : withValue(isTable(inner) ? inner : {}, rest, value);
  return Object.hasOwn(table, key) ? { ...table, [key]: next } : { [key]: next, ...table };
}

/**
 * The table without the value under these keys, and without the tables around it that become empty.
 * An empty table stays if `former`, the content before `init`, has a table there.
 */
export function withoutValue(
  table: ConfigTable,
  keys: readonly string[],
  former: ConfigTable | undefined,
): ConfigTable {
  const [key = '', ...rest] = keys;
  const { [key]: inner, ...others } = table;
  if (rest.length === 0 || !isTable(inner)) return others;
  const left = withoutValue(inner, rest, isTable(former?.[key]) ? former[key] : undefined);
  return Object.keys(left).length === 0 && !isTable(former?.[key]) ? others : { ...table, [key]: left };
}

/** A syntax of configuration files. */
export interface ConfigSyntax {
  /** The values of a text; an empty table for a blank one. Throws a ConfigProblem. */
  parse(text: string): ConfigTable;
  /** The text of a new file. */
  write(table: ConfigTable): string;
  /**
   * The text with the values `want`, where everything that belongs to equal values stays. Edits
   * simply, so the caller must parse the result. Throws a ConfigProblem for a form it cannot edit.
   */
  rewrite(text: string, want: ConfigTable): string;
  /** The line of a value, or of the nearest section with it. */
  lineOf(text: string, keys: readonly string[]): number | undefined;
}

interface ProblemPlace {
  /** The line, from 1, if the problem has one place. */
  readonly line?: number;
  /** The keys of the value that cannot be edited. */
  readonly keys?: readonly string[];
  /** False if the user should not make the change by hand either. */
  readonly byHand?: boolean;
}

/** The reason why a configuration file cannot be edited. */
export class ConfigProblem extends Error {
  readonly place: ProblemPlace;

  constructor(message: string, place: ProblemPlace = {}) {
    super(message);
    this.place = place;
  }
}

/** The line ending of a text: that of its first line. */
export function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n';
}
