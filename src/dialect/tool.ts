import type { ValueOf } from '../model/json-schema.ts';
import { isRecord, type JsonRecord, parseJson, repairedJson } from '../model/record.ts';
import { checkShape, mismatchText, type ObjectShape, type Shape } from '../model/shape.ts';
import type { Refusal } from '../model/verdict.ts';
import type { ToolNames } from '../report/tool-names.ts';
import type { AnsweredKind } from './answers.ts';
import type { Operations, Results } from './operation.ts';
import type { ReadStyle, RenderContext, Rendered } from './render.ts';

/** Hints for clients. Every tool sets all four, because clients assume the worst for a missing hint. */
interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: false;
}

/** Hints of a tool that changes nothing. */
const READS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Hints of a tool that removes or replaces content. */
export const DESTROYS: Annotations = { ...READS, readOnlyHint: false, destructiveHint: true };

/** Hints of a tool that only adds content; repeating the call adds it again. */
export const ADDS: Annotations = { ...READS, readOnlyHint: false, idempotentHint: false };

interface CallBase<K extends keyof Operations> {
  readonly kind: K;
  readonly operation: Operations[K];
  /** The operation with the caller's own paths, if `operation` has others. Answers name those. */
  readonly asked?: Operations[K];
  /** The sentence about arguments that had to be repaired. */
  readonly note?: string;
  /** Text that this dialect puts before a refusal, if any. */
  readonly foreword?: (refusal: Refusal, context: RenderContext) => string | undefined;
}

type Render<K extends keyof Operations> = (result: Results[K], context: RenderContext) => Rendered;

/** A read has a style, another operation a function for its answer. Absent: the usual one of `ANSWERS`. */
type CallOf<K extends keyof Operations> = CallBase<K> &
  (K extends 'read'
    ? { readonly style?: ReadStyle }
    : K extends 'view'
      ? unknown
      : K extends AnsweredKind
        ? { readonly render?: Render<K> }
        : { readonly render: Render<K> });

/** A translated tool call: the operation, and how its result is worded. */
export type Call = { [K in keyof Operations]: CallOf<K> }[keyof Operations];

/** Says that the arguments match the schema, but do not fit together, such as `head` with `tail`. */
export interface Problem {
  readonly kind: 'problem';
  readonly reason: string;
}

export function problem(reason: string): Problem {
  return { kind: 'problem', reason };
}

/** One tool of a dialect, as data. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectShape;
  readonly outputSchema?: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly annotations: Annotations;
  /** The condition for offering the tool: the operator has allowed commands. */
  readonly needs?: 'commands';
  /** Translates arguments that were checked against `inputSchema`. */
  readonly call: (args: Readonly<Record<string, unknown>>) => Call | Problem;
}

type Described<Type extends string> = { readonly type: Type; readonly description: string };
type Limits = { readonly minimum?: number; readonly maximum?: number };

/** An argument that is a text. */
export function string(description: string): Described<'string'> {
  return { type: 'string', description };
}

/** An argument that is true or false. */
export function flag(description: string, more: { readonly default?: boolean } = {}): Described<'boolean'> {
  return { type: 'boolean', ...more, description };
}

export function integer(description: string, limits: Limits = {}): Described<'integer'> & Limits {
  return { type: 'integer', ...limits, description };
}

export function number(description: string): Described<'number'> {
  return { type: 'number', description };
}

/** The schema of a tool, and its `call`, which gets arguments with the types of this schema. */
interface Typed<S extends ObjectShape> {
  readonly inputSchema: S;
  readonly call: (args: ValueOf<S>) => Call | Problem;
}

/** Defines a tool. */
export function tool<const S extends ObjectShape>(
  definition: Omit<Tool, 'inputSchema' | 'call'> & Typed<S>,
): Tool {
  const { call } = definition;
  // The cast is safe: `call` only gets arguments that `checkArguments` has checked against this
  // schema.
  return { ...definition, call: (args) => call(args as ValueOf<S>) };
}

/** Defines a tool that changes nothing. */
export function lookingTool<const S extends ObjectShape>(
  definition: Omit<Tool, 'inputSchema' | 'call' | 'annotations'> & Typed<S>,
): Tool {
  return tool({ ...definition, annotations: READS });
}

/** One family of tools: the tools, their names in messages, and the instructions for the model. */
export interface Dialect {
  readonly name: DialectName;
  /** The tools, in the order in which they are listed to clients. */
  readonly tools: readonly Tool[];
  /** The tool names that refusals use. */
  readonly names: ToolNames;
  /** True if `~` in a path means the user's home folder; default: it is an ordinary name. */
  readonly expandsHome?: boolean;
  /** Set if one of the tools lists the roots. Answers then need not name them. */
  readonly listsRoots?: true;
  /** Treatment of arguments that the schema does not name. */
  readonly unknownArguments: UnknownArguments;
  /**
   * Maps the name that an argument has in the default dialect to its name in this one. Refusals use
   * the names of this dialect.
   */
  readonly terms: Readonly<Record<string, string>>;
  /**
   * Instructions for clients that show them to their model; the first 512 characters contain everything
   * important.
   */
  readonly instructions: string;
}

/** The new names of tools, by their names in the dialect. A tool without an entry keeps its name. */
export type ToolRenames = Readonly<Record<string, string>> | ((name: string) => string);

/**
 * Renames the tools of a dialect, also in their descriptions, in the instructions and in the names
 * that refusals use.
 */
export function renameTools(dialect: Dialect, renames: ToolRenames): Dialect {
  const renamed = new Map(dialect.tools.map(({ name }) => [name, newName(renames, name)]));
  const inText = (text: string): string => withNames(text, renamed);
  return {
    ...dialect,
    tools: dialect.tools.map((tool) => ({
      ...tool,
      name: renamed.get(tool.name) ?? tool.name,
      description: inText(tool.description),
    })),
    names: mapNames(dialect.names, (name) => renamed.get(name) ?? name),
    instructions: inText(dialect.instructions),
  };
}

function newName(renames: ToolRenames, name: string): string {
  return typeof renames === 'function' ? renames(name) : (renames[name] ?? name);
}

/**
 * Replaces tool names in a text. Capitalised words at the start of a sentence stay, because "Read"
 * may be a verb there. Lower-case words stay, unless they are in backquotes or contain an
 * underscore.
 */
function withNames(text: string, renamed: ReadonlyMap<string, string>): string {
  const names = /(?<=`)[a-z]+(?=`)|(?<![\w.-])(?<!^|[.:;] )[A-Z]\w*|[A-Za-z]+(?:_[A-Za-z]+)+/g;
  return text.replace(names, (word) => renamed.get(word) ?? word);
}

/** Words for tools that are not offered. */
const UNNAMED = { read: 'the read tool', write: 'the write tool', edit: 'the edit tool' } as const;

/**
 * The dialect's tool names, reduced to the offered tools, so that messages never suggest a missing
 * tool.
 */
export function renamedNames({ names }: Dialect, tools: readonly Tool[]): ToolNames {
  const offered = new Set(tools.map(({ name }) => name));
  const isOffered = (name: string): boolean => names.command !== undefined || offered.has(name);
  const kept = Object.entries(names).filter(
    ([, name]) => typeof name !== 'string' || name === names.spelling || isOffered(name),
  );
  // The cast is safe: `UNNAMED` has the required names, and the others may be absent.
  return { ...UNNAMED, ...Object.fromEntries(kept) } as ToolNames;
}

function mapNames(names: ToolNames, map: (name: string) => string): ToolNames {
  const { command } = names;
  if (command !== undefined) return { ...names, command: { ...command, tool: map(command.tool) } };
  const entries = Object.entries(names).map(([use, name]): [string, unknown] =>
    typeof name === 'string' && use !== 'spelling' ? [use, map(name)] : [use, name],
  );
  // The cast is safe: the object has the same members with different texts.
  return Object.fromEntries(entries) as unknown as ToolNames;
}

/** Arguments in the form of the schema, or the problem in a few words. */
type CheckedArguments = { readonly args: JsonRecord; readonly note?: string } | { readonly reason: string };

/**
 * Treatment of an argument that the schema does not name. `refuse`: the call fails. `ignore`: the
 * argument is dropped.
 */
export type UnknownArguments = 'refuse' | 'ignore';

/**
 * Checks a tool's arguments. It first accepts forms that models and strict schemas produce: `null` for an absent
 * optional argument, a string for an integer, and JSON text for an array or object.
 */
export function checkArguments(
  schema: ObjectShape,
  given: unknown,
  unknown: UnknownArguments,
): CheckedArguments {
  const accepting = { unknown, isRepaired: false };
  const args = accepted(schema, given, accepting);
  const [mismatch] = checkShape(schema, args);
  if (mismatch !== undefined)
    return { reason: mismatchText(mismatch, { noun: 'argument', whole: 'the arguments' }) };
  // The cast is safe: `checkShape` has found an object.
  return { args: args as JsonRecord, ...(accepting.isRepaired ? { note: REPAIRED } : {}) };
}

const REPAIRED =
  'The arguments were not valid JSON. A code fence around them or a trailing comma was removed; send plain JSON next time.';

/** How arguments are accepted, and whether some were repaired. */
interface Accepting {
  readonly unknown: UnknownArguments;
  isRepaired: boolean;
}

/** The value of JSON text, repaired if necessary. Any other value is returned as it is. */
function fromText(value: unknown, accepting: Accepting): unknown {
  if (typeof value !== 'string') return value;
  const plain = parseJson(value);
  if (plain !== undefined) return plain;
  const repaired = repairedJson(value);
  if (repaired !== undefined) accepting.isRepaired = true;
  return repaired;
}

function accepted(schema: Shape, value: unknown, accepting: Accepting): unknown {
  switch (schema.type) {
    case 'number':
    case 'integer':
      return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    case 'array': {
      const list = fromText(value, accepting);
      return Array.isArray(list) ? list.map((item) => accepted(schema.items, item, accepting)) : value;
    }
    case 'object': {
      const members = fromText(value, accepting);
      return isRecord(members) ? acceptedMembers(schema, members, accepting) : value;
    }
    default:
      return value;
  }
}

function acceptedMembers(schema: ObjectShape, members: JsonRecord, accepting: Accepting): JsonRecord {
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(members)) {
    const value = members[name];
    const expected = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const optional = expected !== undefined && schema.required?.includes(name) !== true;
    if (optional && value === null) continue;
    if (expected !== undefined) kept[name] = accepted(expected, value, accepting);
    // Define the property: assigning to `__proto__` would set the prototype, and the check would
    // not see the unknown name.
    else if (accepting.unknown === 'refuse') Object.defineProperty(kept, name, { value, enumerable: true });
  }
  return kept;
}

/** Names for `--dialect`. */
export const DIALECT_NAMES = [
  'lookfirst',
  'sandbox',
  'lace',
  'filesystem',
  'apply-patch',
  'text-editor',
  'anthropic',
] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];
