import {
  ANY,
  FLAG,
  listOf,
  NAME,
  type ObjectShape,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
  variantOf,
} from '../../model/shape.ts';
import { REFUSAL_CODES, type RefusalCode } from '../../model/verdict.ts';
import type { ToolNames } from '../../report/tool-names.ts';

/**
 * Describes as data what a server's tools do to files: which argument is the path, what is read, what is written. A
 * user's own table in the policy file has fewer fields; see `USER_TABLE`.
 */
export interface ServerTable {
  /** Short name, for messages and the journal. */
  readonly id: string;
  /** The names that the server reports (`serverInfo.name`), compared case-insensitively. */
  readonly serverNames: readonly string[];
  /** Tools that together identify this server. If empty, only the server's name identifies it. */
  readonly signature: readonly string[];
  /** The base of relative paths on this server. `root`: the workspace. `cwd`: the server's working directory. */
  readonly relativeTo: 'root' | 'cwd';
  /** True if the server accepts no absolute paths. Relative ones are passed on unchanged. */
  readonly onlyRelative?: true;
  /**
   * True if the server replaces a name that does not exist by an existing one that differs only in its Unicode form.
   */
  readonly equalNames?: true;
  /** True if the server expands `~/x` to the home folder. */
  readonly expandsHome: boolean;
  /** Names of the server's own tools. Refusals use them to say what to do next. */
  readonly words: ToolNames;
  /**
   * The server's own messages for refusals, put before Lookfirst's. PATH, ROOT and TEXT in them
   * mean the path, the workspace and the text to replace.
   */
  readonly sentences?: Partial<Readonly<Record<RefusalCode, string>>>;
  readonly tools: Readonly<Record<string, readonly Rule[]>>;
}

/**
 * Like `ServerTable`, for the built-in tools of an agent's host. Relative paths start at the host's working directory.
 */
export interface HostTable {
  readonly id: string;
  readonly words: ToolNames;
  readonly tools: Readonly<Record<string, readonly Rule[]>>;
}

/**
 * The name of an argument, or several names, of which the first one in the call is used. A dot selects a field of a
 * nested object: `action.command`. The name `.` is the array item itself; see `each`.
 */
export type ArgumentName = string | readonly string[];

/**
 * The fields of a rule, as data: the type of a rule and the shape of a user's rule both follow from
 * it. A `?` marks a field that may be missing. The value is one of `Kinds`.
 */
type Fields = Readonly<Record<string, keyof Kinds>>;

/** The types of fields. */
interface Kinds {
  readonly name: ArgumentName;
  readonly text: string;
  readonly flag: boolean;
  readonly true: true;
  readonly number: number;
  readonly first: 0 | 1;
  readonly constants: readonly (string | number | boolean)[];
  readonly numbers: 'always' | 'maybe' | 'never';
  readonly condition: Condition;
  readonly conditions: Condition | readonly Condition[];
  readonly after: LineArgument;
  readonly lines: LineArguments;
  readonly edit: EditArguments;
  readonly shown: ShownForm;
}

type Typed<F extends Fields> = {
  readonly [K in keyof F as K extends `${string}?` ? never : K]: Kinds[F[K]];
} & { readonly [K in keyof F as K extends `${infer Name}?` ? Name : never]?: Kinds[F[K]] };

const CONDITION = {
  argument: 'name',
  // True if the condition tests a field of the array item (see `each`), not an argument of the whole call.
  'inItem?': 'true',
  // The exact values that match; absent means that any value matches.
  'is?': 'constants',
} as const;
type Condition = Typed<typeof CONDITION>;

/** The part of the arguments to which a rule applies, and the conditions of the rule. */
const SCOPE = {
  // The rule applies to each item of this array argument. If the items are strings, the name `.` selects them.
  'each?': 'text',
  'when?': 'condition',
  // The rule does not apply if one of these conditions holds.
  'unless?': 'conditions',
} as const;

/** Arguments that name lines. A call uses at most one of `head`, `tail`, `range` and `from`. */
const LINES = {
  // An array argument. Each of its items names lines by the arguments below.
  'each?': 'text',
  // A number of lines: `head` counts from the top of the file, `tail` from its end.
  'head?': 'name',
  'tail?': 'name',
  // An array of the first and the last line. A last line below 1, or none, means the end of the file.
  'range?': 'name',
  // The first line; a negative number counts from the end of the file. The last line, included.
  'from?': 'name',
  'to?': 'name',
  // The number of lines.
  'count?': 'name',
  // The number by which these arguments name the first line of a file; default 1.
  'firstLine?': 'first',
  // The number of lines that the server returns if the call does not give a number; default: all.
  'defaultCount?': 'number',
} as const;
export type LineArguments = Typed<typeof LINES>;

/** An argument with a line number. That number plus `plus` is the line after which the tool inserts. */
const AFTER = { argument: 'name', plus: 'number' } as const;
type LineArgument = Typed<typeof AFTER>;

const EDIT = {
  old: 'name',
  new: 'name',
  // The array of edits; default: the arguments themselves are one edit.
  'each?': 'text',
  // True if an empty old text means that the new text becomes the whole file.
  'emptyCreates?': 'true',
  // The argument that requests the replacement of every occurrence, and its value if the call does
  // not give it (default: false).
  'all?': 'name',
  'allByDefault?': 'flag',
  // The expected number of occurrences. If it is above 1, the tool replaces every occurrence.
  'occurrences?': 'name',
  // If one of these holds for an edit or the call, the server also replaces text that is only
  // similar to the old text.
  'loosely?': 'conditions',
} as const;
export type EditArguments = Typed<typeof EDIT>;

/** The forms in which the text of a result shows lines of a file. */
const FORMS = {
  // The text consists of the requested lines. A first line that begins with `header`, and the empty
  // line after it, are not part of the file.
  verbatim: { 'header?': 'text' },
  // One text with a section for each file, in the requested order. `PATH` in a mark means the path.
  sections: { open: 'text', failed: 'text', close: 'text', between: 'text', 'header?': 'text' },
  // Another form, such as JSON. Lines of the file that occur in the text count as shown, if the file
  // did not change during the call.
  found: {},
  // The text is a unified diff; the file's lines in it count as shown.
  diff: {},
  // The text consists of the requested lines, possibly numbered (`N<TAB>text`). `always`: a text
  // without numbers is a message, not a view of the file.
  lines: { numbers: 'numbers' },
  // Like `lines`, for the output of a command.
  output: { numbers: 'numbers' },
  // Several files in one text. A file's content can forge the boundaries, so only the lines that
  // Lookfirst's receipts (`[read PATH lines A-B …]`) name count as shown.
  receipts: {},
} as const;
export type ShownForm = {
  readonly [K in keyof typeof FORMS]: { readonly as: K } & Typed<(typeof FORMS)[K]>;
}[keyof typeof FORMS];

/** The effects that a call can have, each with its fields. */
const RULES = {
  // With `orName`, the value may be a name that only the server knows, not a path. It is then passed
  // on unchanged.
  look: { path: 'name', 'orName?': 'true' },
  list: { path: 'name' },
  mkdir: { path: 'name' },
  read: { path: 'name', shown: 'shown', 'lines?': 'lines' },
  // Shows matching lines as `path:line:text`. An absent path means the working directory.
  search: { path: 'name' },
  write: { path: 'name', content: 'name' },
  edit: { path: 'name', edit: 'edit' },
  // Inserts after a line; without `after`, at the end of the file.
  insert: { path: 'name', content: 'name', 'after?': 'after' },
  touch: { path: 'name', 'lines?': 'lines' },
  delete: { path: 'name', 'recursive?': 'name' },
  // `taken`: for a tool that never replaces an existing destination, the server's message in that
  // case. In it, PATH is replaced by the destination's path.
  move: { source: 'name', destination: 'name', 'taken?': 'text' },
  copy: { source: 'name', destination: 'name' },
  // The text of a patch in the V4A format (`*** Begin Patch`), which names its own files.
  patch: { patch: 'name' },
  // `folder`: where the command starts; default: the working directory. `background`: a flag with
  // which the call returns before the command has ended. `optional`: a call without a command runs
  // nothing.
  run: { command: 'name', 'folder?': 'name', 'background?': 'name', 'optional?': 'true' },
  unknown: {},
  nothing: {},
} as const;

/** One effect of a call. A rule whose path is absent from the call does not apply. */
export type Rule = {
  readonly [K in keyof typeof RULES]: { readonly does: K } & Typed<typeof SCOPE> & Typed<(typeof RULES)[K]>;
}[keyof typeof RULES];

/** Gives the same rules to several tools, whose names are separated by spaces. */
export function toolsWith(
  rules: readonly Rule[],
  ...names: readonly string[]
): Readonly<Record<string, readonly Rule[]>> {
  return Object.fromEntries(names.flatMap((list) => list.split(' ')).map((name) => [name, rules]));
}

const TEXTS = listOf(TEXT, { must: 'an array of strings' });
const SIMPLE = {
  name: { type: 'either', shapes: [TEXT, TEXTS], must: 'a string or an array of strings' },
  text: TEXT,
  flag: FLAG,
  true: { type: 'constant', values: [true], must: 'true, or absent' },
  number: { type: 'number' },
  first: { type: 'constant', values: [0, 1] },
  constants: listOf({ type: 'either', shapes: [TEXT, FLAG, { type: 'number' }] }),
  numbers: oneOf('always', 'maybe', 'never'),
} as const satisfies Partial<Record<keyof Kinds, Shape>>;

function shapeOf(fields: Fields, kinds: Partial<Record<keyof Kinds, Shape>>): ObjectShape {
  const entries = Object.entries(fields).map(([name, kind]) => [name.replace('?', ''), kinds[kind] ?? ANY]);
  return objectOf(
    Object.fromEntries(entries),
    Object.keys(fields).filter((name) => !name.endsWith('?')),
  );
}

function variantsOf(tag: string, forms: Readonly<Record<string, Fields>>, kinds: typeof SIMPLE): Shape {
  return variantOf(
    tag,
    Object.fromEntries(Object.entries(forms).map(([name, fields]) => [name, shapeOf(fields, kinds)])),
  );
}

const condition = shapeOf(CONDITION, SIMPLE);
const conditions: Shape = { type: 'either', shapes: [condition, listOf(condition)] };
const KINDS = {
  ...SIMPLE,
  condition,
  conditions,
  after: shapeOf(AFTER, SIMPLE),
  lines: shapeOf(LINES, SIMPLE),
  edit: shapeOf(EDIT, { ...SIMPLE, conditions }),
  shown: variantsOf('as', FORMS, SIMPLE),
};
const RULE = variantsOf(
  'does',
  Object.fromEntries(Object.entries(RULES).map(([does, fields]) => [does, { ...SCOPE, ...fields }])),
  KINDS,
);

/** The shape of a user's table for a server. Only `id` and `tools` are required. */
export const USER_TABLE: ObjectShape = objectOf(
  {
    id: NAME,
    serverNames: TEXTS,
    signature: TEXTS,
    relativeTo: oneOf('root', 'cwd'),
    // These three have no effect any more.
    folder: ANY,
    followsRoots: ANY,
    elsewhere: ANY,
    onlyRelative: SIMPLE.true,
    equalNames: SIMPLE.true,
    expandsHome: FLAG,
    sentences: objectOf(Object.fromEntries(REFUSAL_CODES.map((code) => [code, TEXT]))),
    words: objectOf(
      {
        read: TEXT,
        write: TEXT,
        edit: TEXT,
        insert: TEXT,
        delete: TEXT,
        list: TEXT,
        arguments: objectOf(
          {
            path: TEXT,
            from: TEXT,
            fromZero: TEXT,
            count: TEXT,
            to: TEXT,
            range: TEXT,
            recursive: TEXT,
            depth: TEXT,
            revision: TEXT,
            replaceAll: TEXT,
            oldText: TEXT,
          } satisfies Record<keyof ToolNames['arguments'], Shape>,
          ['path'],
        ),
      },
      ['read', 'write', 'edit', 'arguments'],
    ),
    tools: {
      type: 'map',
      values: listOf(RULE, { minItems: 1, must: 'an array of rules' }),
      must: 'an object of tool names',
    },
  },
  ['id', 'tools'],
);
