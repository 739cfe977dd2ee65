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

/** One effect of a call. A rule whose path is absent from the call does not apply. */
export type Rule = RuleScope &
  (
    | { readonly does: 'list' | 'mkdir'; readonly path: ArgumentName }
    | {
        readonly does: 'look';
        readonly path: ArgumentName;
        /**
         * True if the value may be a name that only the server knows, not a path. The value is then
         * passed on unchanged.
         */
        readonly orName?: true;
      }
    | {
        readonly does: 'read';
        readonly path: ArgumentName;
        readonly lines?: LineArguments;
        readonly shown: ShownForm;
      }
    /** Shows matching lines as `path:line:text`. An absent path means the working directory. */
    | { readonly does: 'search'; readonly path: ArgumentName }
    | { readonly does: 'write'; readonly path: ArgumentName; readonly content: ArgumentName }
    | { readonly does: 'edit'; readonly path: ArgumentName; readonly edit: EditArguments }
    | {
        readonly does: 'insert';
        readonly path: ArgumentName;
        readonly content: ArgumentName;
        /** The line to insert after; absent: at the end of the file. */
        readonly after?: LineArgument;
      }
    | { readonly does: 'touch'; readonly path: ArgumentName; readonly lines?: LineArguments }
    | { readonly does: 'delete'; readonly path: ArgumentName; readonly recursive?: ArgumentName }
    | {
        readonly does: 'move';
        readonly source: ArgumentName;
        readonly destination: ArgumentName;
        /**
         * For a tool that never replaces an existing destination: the server's message in that
         * case. In the message, PATH is replaced by the destination's path.
         */
        readonly taken?: string;
      }
    | { readonly does: 'copy'; readonly source: ArgumentName; readonly destination: ArgumentName }
    /** The text of a patch in the V4A format (`*** Begin Patch`), which names its own files. */
    | { readonly does: 'patch'; readonly patch: ArgumentName }
    | {
        readonly does: 'run';
        readonly command: ArgumentName;
        /** The start folder of the command; if absent from the call, the working directory. */
        readonly folder?: ArgumentName;
        /** A flag argument. If it is set, the call returns before the command has ended. */
        readonly background?: ArgumentName;
        /** True if a call may lack a command. A call without one runs nothing. */
        readonly optional?: true;
      }
    | { readonly does: 'unknown' | 'nothing' }
  );

/** Gives the same rules to several tools, whose names are separated by spaces. */
export function toolsWith(
  rules: readonly Rule[],
  ...names: readonly string[]
): Readonly<Record<string, readonly Rule[]>> {
  return Object.fromEntries(names.flatMap((list) => list.split(' ')).map((name) => [name, rules]));
}

/** The part of the arguments to which a rule applies, and the conditions of the rule. */
interface RuleScope {
  /** The rule applies to each item of this array argument. If the items are strings, the name `.` selects them. */
  readonly each?: string;
  readonly when?: ArgumentIs;
  /** The rule does not apply if one of these conditions holds. */
  readonly unless?: ArgumentIs | readonly ArgumentIs[];
}

interface ArgumentIs {
  readonly argument: ArgumentName;
  /** True if the condition tests a field of the array item (see `each`), not an argument of the whole call. */
  readonly inItem?: true;
  /** The exact values that match; absent means that any value matches. */
  readonly is?: readonly (string | number | boolean)[];
}

/** Arguments that name lines. A call uses at most one of `head`, `tail`, `range` and `from`. */
export interface LineArguments {
  /** An array argument. Each of its items names lines by the arguments below. */
  readonly each?: string;
  /**
   * The argument with a number of lines: `head` counts from the top of the file, `tail` from its
   * end.
   */
  readonly head?: ArgumentName;
  readonly tail?: ArgumentName;
  /** An array of the first and the last line. A last line below 1, or none, means the end of the file. */
  readonly range?: ArgumentName;
  /**
   * `from`: the first line; a negative number counts from the end of the file. `to`: the last line,
   * included. `count`: the number of lines.
   */
  readonly from?: ArgumentName;
  readonly to?: ArgumentName;
  readonly count?: ArgumentName;
  /** The number by which these arguments name the first line of a file; default 1. */
  readonly firstLine?: 0 | 1;
  /** The number of lines that the server returns if the call does not give a number; default: all. */
  readonly defaultCount?: number;
}

/** An argument with a line number. That number plus `plus` is the line after which the tool inserts. */
interface LineArgument {
  readonly argument: ArgumentName;
  readonly plus: number;
}

export interface EditArguments {
  /** The array of edits; default: the arguments themselves are one edit. */
  readonly each?: string;
  readonly old: ArgumentName;
  readonly new: ArgumentName;
  /** True if an empty old text means that the new text becomes the whole file. */
  readonly emptyCreates?: true;
  /**
   * The argument that requests the replacement of every occurrence. `allByDefault`: its value if
   * the call does not give it (default: false).
   */
  readonly all?: ArgumentName;
  readonly allByDefault?: boolean;
  /** The expected number of occurrences. If it is above 1, the tool replaces every occurrence. */
  readonly occurrences?: ArgumentName;
  /**
   * If one of these conditions holds for an edit or the call, the server also replaces text that is
   * only similar to the old text.
   */
  readonly loosely?: readonly ArgumentIs[];
}

/** The form in which the text of a result shows lines of a file. `PATH` in a mark means the requested path. */
export type ShownForm =
  /** The text consists of the requested lines. */
  | ({ readonly as: 'verbatim' } & Decoration)
  /** One text with a section for each file, in the requested order. */
  | ({ readonly as: 'sections' } & SectionMarks & Decoration)
  /**
   * Another form, such as JSON. Lines of the file that occur in the text count as shown, if the file
   * did not change during the call.
   */
  | { readonly as: 'found' }
  /** The text is a unified diff; the file's lines in it count as shown. */
  | { readonly as: 'diff' }
  /**
   * The text consists of the requested lines, possibly numbered (`N<TAB>text`). `always`: a text
   * without numbers is a message, not a view of the file.
   */
  | { readonly as: 'lines'; readonly numbers: 'always' | 'maybe' | 'never' }
  /** Like `lines`, for the output of a command. */
  | { readonly as: 'output'; readonly numbers: 'always' | 'never' }
  /**
   * Several files in one text. A file's content can forge the boundaries, so only the lines that
   * Lookfirst's receipts (`[read PATH lines A-B …]`) name count as shown.
   */
  | { readonly as: 'receipts' };

/** Text that a server adds around the lines. */
interface Decoration {
  /** A first line with this beginning, and the empty line after it, are not part of the file. */
  readonly header?: string;
}

interface SectionMarks {
  readonly open: string;
  readonly failed: string;
  readonly close: string;
  readonly between: string;
}

const NUMBER: Shape = { type: 'number' };
const TRUE: Shape = { type: 'constant', values: [true], must: 'true, or absent' };
const ZERO_OR_ONE: Shape = { type: 'constant', values: [0, 1] };
const TEXTS = listOf(TEXT, { must: 'an array of strings' });

const CONDITION = objectOf(
  {
    argument: TEXT,
    is: listOf({ type: 'either', shapes: [TEXT, FLAG, NUMBER] }),
    inItem: TRUE,
  },
  ['argument'],
);
const LINES = objectOf({
  each: TEXT,
  head: TEXT,
  tail: TEXT,
  from: TEXT,
  to: TEXT,
  count: TEXT,
  firstLine: ZERO_OR_ONE,
  defaultCount: NUMBER,
});
const AFTER = objectOf({ argument: TEXT, plus: NUMBER }, ['argument', 'plus']);
const EDIT = objectOf(
  {
    old: TEXT,
    new: TEXT,
    each: TEXT,
    all: TEXT,
    allByDefault: FLAG,
    occurrences: TEXT,
    loosely: listOf(CONDITION),
  },
  ['old', 'new'],
);
const DECORATION = { header: TEXT };
const SHOWN = variantOf('as', {
  verbatim: objectOf(DECORATION),
  sections: objectOf({ open: TEXT, failed: TEXT, close: TEXT, between: TEXT, ...DECORATION }, [
    'open',
    'failed',
    'close',
    'between',
  ]),
  found: objectOf({}),
  diff: objectOf({}),
});

/** Fields that every rule may have: the array to whose items it applies, and its conditions. */
const SCOPE = { each: TEXT, when: CONDITION, unless: CONDITION };
const PATH = { ...SCOPE, path: TEXT };
const PATHS = { ...SCOPE, source: TEXT, destination: TEXT };
const RULE = variantOf('does', {
  look: objectOf({ ...PATH, orName: TRUE }, ['path']),
  list: objectOf(PATH, ['path']),
  mkdir: objectOf(PATH, ['path']),
  read: objectOf({ ...PATH, shown: SHOWN, lines: LINES }, ['path', 'shown']),
  write: objectOf({ ...PATH, content: TEXT }, ['path', 'content']),
  edit: objectOf({ ...PATH, edit: EDIT }, ['path', 'edit']),
  insert: objectOf({ ...PATH, content: TEXT, after: AFTER }, ['path', 'content']),
  touch: objectOf({ ...PATH, lines: LINES }, ['path']),
  delete: objectOf({ ...PATH, recursive: TEXT }, ['path']),
  move: objectOf({ ...PATHS, taken: TEXT }, ['source', 'destination']),
  copy: objectOf(PATHS, ['source', 'destination']),
  run: objectOf({ ...SCOPE, command: TEXT }, ['command']),
  unknown: objectOf(SCOPE),
  nothing: objectOf(SCOPE),
});

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
    onlyRelative: TRUE,
    equalNames: TRUE,
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
