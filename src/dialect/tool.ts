import type { Refusal } from '../model/verdict.ts';
import type { ToolNames } from '../report/tool-names.ts';
import type { UnknownArguments } from './check-arguments.ts';
import type { DialectName } from './dialect-name.ts';
import type { OperationKind, Operations, Results } from './operation.ts';
import type { ReadStyle } from './read-style.ts';
import type { RenderContext, Rendered } from './render.ts';
import type { ObjectSchema, ValueOf } from './schema.ts';

/** Hints for clients; every tool gives all four, for the defaults are pessimistic. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: false;
}

/** Changes nothing. */
export const READS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Takes something away or puts something else in its place. */
export const DESTROYS: Annotations = { ...READS, readOnlyHint: false, destructiveHint: true };

/** Changes, but only adds; doing it twice adds twice. */
export const ADDS: Annotations = { ...READS, readOnlyHint: false, idempotentHint: false };

interface CallBase<K extends OperationKind> {
  readonly kind: K;
  readonly operation: Operations[K];
  /** What this dialect says before a refusal's own words, if anything. */
  readonly foreword?: (refusal: Refusal, context: RenderContext) => string | undefined;
}

type CallOf<K extends OperationKind> = CallBase<K> &
  (K extends 'read' | 'view' ? { readonly style: ReadStyle } : unknown) &
  (K extends 'read'
    ? unknown
    : { readonly render: (result: Results[K], context: RenderContext) => Rendered });

/** One call of a tool, translated: what to do, and how to tell its result. */
export type Call = { [K in OperationKind]: CallOf<K> }[OperationKind];

/** Why arguments that fit the schema still make no sense together. */
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
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly annotations: Annotations;
  /** Offered only where the operator has allowed commands, or wants claims by hand. */
  readonly needs?: 'commands' | 'claims';
  /** Translates arguments that were checked against `inputSchema`. */
  readonly call: (args: Readonly<Record<string, unknown>>) => Call | Problem;
}

/** A tool whose translation gets arguments of the very types its schema names. */
export function tool<const S extends ObjectSchema>(
  definition: Omit<Tool, 'inputSchema' | 'call'> & {
    readonly inputSchema: S;
    readonly call: (args: ValueOf<S>) => Call | Problem;
  },
): Tool {
  const { call } = definition;
  // The parsing boundary: `call` is only ever given what `checkArguments` found to fit this schema.
  return { ...definition, call: (args) => call(args as ValueOf<S>) };
}

/** How one host spells tool calls. */
export interface Dialect {
  readonly name: DialectName;
  /** In the order they are listed. */
  readonly tools: readonly Tool[];
  /** What refusals call the tools. */
  readonly names: ToolNames;
  /** Whether `~` in a path is the user's home folder; default: it is a name. */
  readonly expandsHome?: boolean;
  /** Whether an argument that a tool does not know is an error. */
  readonly unknownArguments: UnknownArguments;
  /** This dialect's words for arguments that refusals name by those of the default dialect. */
  readonly terms: Readonly<Record<string, string>>;
  /** The teaching text for clients that show it to their model; the first 512 characters say all that matters. */
  readonly instructions: string;
}

/** Without the members that are undefined, for types that tell absent from undefined. */
export function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  // The same object without its undefined members.
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
