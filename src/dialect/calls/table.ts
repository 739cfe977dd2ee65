import type { ToolNames } from '../../report/tool-names.ts';

/**
 * What a foreign server's tools do to files, as data: which argument is the path, what is read, what is written.
 * The words here are also those of a user's own table in the policy file.
 */
export interface ServerTable {
  /** Short name, for messages and the journal. */
  readonly id: string;
  /** Names the server gives itself (`serverInfo.name`), compared without regard to case. */
  readonly serverNames: readonly string[];
  /** Tools that, all present in one list, mark this server; empty: only its name does. */
  readonly signature: readonly string[];
  /** What the server takes relative paths to be relative to. */
  readonly relativeTo: 'root' | 'cwd';
  /** Where its command line names that folder, if it does; absent: nobody can tell. */
  readonly folder?: FolderOnCommandLine;
  /** The folders a client names by MCP roots take the place of those. */
  readonly followsRoots?: true;
  /** Tools after which relative paths start somewhere else. */
  readonly elsewhere?: readonly string[];
  /** It takes no absolute paths: relative ones go to it as they are. */
  readonly onlyRelative?: true;
  /** A name that is not there means to it one that is there and the same but for its Unicode form. */
  readonly equalNames?: true;
  /** `~/x` means the home folder to this server. */
  readonly expandsHome: boolean;
  /** Its own tools, for the next step of a refusal. */
  readonly words: ToolNames;
  readonly tools: Readonly<Record<string, readonly Rule[]>>;
}

/** The same for the tools that an agent's host brings along. Relative paths start at the host's working directory. */
export interface HostTable {
  readonly id: string;
  readonly words: ToolNames;
  readonly tools: Readonly<Record<string, readonly Rule[]>>;
}

/** The first argument after the server's own name, or the value of an option. */
type FolderOnCommandLine = { readonly after: string } | { readonly option: string };

/**
 * The name of an argument. Of several names the first one that the call gives counts. A dot leads into a nested object
 * (`action.command`); a lone dot is the item of `each`.
 */
export type ArgumentName = string | readonly string[];

/** One thing a call does. A rule whose path is absent from the call does not apply. */
export type Rule = RuleScope &
  (
    | { readonly does: 'list' | 'mkdir'; readonly path: ArgumentName }
    | {
        readonly does: 'look';
        readonly path: ArgumentName;
        /** It may be a name that only the server knows: it goes there as it was given. */
        readonly orName?: true;
      }
    | {
        readonly does: 'read';
        readonly path: ArgumentName;
        readonly lines?: LineArguments;
        readonly shown: Shown;
      }
    /** Shows lines that match, as `path:line:text`. The path may be absent: the working directory. */
    | { readonly does: 'search'; readonly path: ArgumentName }
    | { readonly does: 'write'; readonly path: ArgumentName; readonly content: ArgumentName }
    | { readonly does: 'edit'; readonly path: ArgumentName; readonly edit: EditArguments }
    | {
        readonly does: 'insert';
        readonly path: ArgumentName;
        readonly content: ArgumentName;
        /** Absent: at the end of the file. */
        readonly after?: LineArgument;
      }
    | { readonly does: 'touch'; readonly path: ArgumentName; readonly lines?: LineArguments }
    | { readonly does: 'delete'; readonly path: ArgumentName; readonly recursive?: ArgumentName }
    | {
        readonly does: 'move';
        readonly source: ArgumentName;
        readonly destination: ArgumentName;
        /** The tool never replaces what is at the destination, and answers in these words; PATH stands for it. */
        readonly taken?: string;
      }
    | { readonly does: 'copy'; readonly source: ArgumentName; readonly destination: ArgumentName }
    /** The text of a patch in the V4A format (`*** Begin Patch`), which names its own files. */
    | { readonly does: 'patch'; readonly patch: ArgumentName }
    | {
        readonly does: 'run';
        readonly command: ArgumentName;
        /** The folder the command starts in. Absent from the call: the working directory. */
        readonly folder?: ArgumentName;
        /** A flag: the call answers before the command has ended. */
        readonly background?: ArgumentName;
      }
    | { readonly does: 'unknown' | 'nothing' }
  );

/** To which part of the arguments a rule applies, and when. */
interface RuleScope {
  /** The rule holds for each item of this array argument; `.` then selects an item that is itself a string. */
  readonly each?: string;
  readonly when?: ArgumentIs;
  /** The rule does not apply if one of these holds. */
  readonly unless?: ArgumentIs | readonly ArgumentIs[];
}

export interface ArgumentIs {
  /** An argument of the call. */
  readonly argument: ArgumentName;
  /** It is a field of the item of `each` instead: what stands in the wrong place means nothing to the server. */
  readonly inItem?: true;
  /** The exact values that count; absent: the argument is given at all. */
  readonly is?: readonly (string | number | boolean)[];
}

/** Arguments that name lines. At most one of the ways is used by a call. */
export interface LineArguments {
  /** The lines are in each item of this array argument. */
  readonly each?: string;
  /** A number of lines from the top, or from the end. */
  readonly head?: ArgumentName;
  readonly tail?: ArgumentName;
  /** An array of the first and the last line. A last line below 1, or none, is the end of the file. */
  readonly range?: ArgumentName;
  /**
   * First line, and last line (included) or number of lines. A negative first line counts from the end, unless there is
   * a last line.
   */
  readonly from?: ArgumentName;
  readonly to?: ArgumentName;
  readonly count?: ArgumentName;
  /** The number of the first line; default 1. */
  readonly firstLine?: 0 | 1;
  /** How many lines the server gives when none are asked for; default: all. */
  readonly defaultCount?: number;
}

/** A line argument and what to add to it. */
interface LineArgument {
  readonly argument: ArgumentName;
  readonly plus: number;
}

export interface EditArguments {
  /** The array of edits; default: the arguments themselves are one edit. */
  readonly each?: string;
  readonly old: ArgumentName;
  readonly new: ArgumentName;
  /** An empty old text means that the new text becomes the whole file. */
  readonly emptyCreates?: true;
  /** A flag that means every occurrence, and what it is when absent (default false). */
  readonly all?: ArgumentName;
  readonly allByDefault?: boolean;
  /** A number of expected occurrences; more than one means every occurrence. */
  readonly occurrences?: ArgumentName;
  /** Where one of these holds for an edit or for the call, the server also takes text that is only like the old one. */
  readonly loosely?: readonly ArgumentIs[];
}

/** How the text of a result relates to the lines of the file. `PATH` in a mark stands for the path as it was asked for. */
export type Shown =
  /** The text is the lines asked for. */
  | ({ readonly as: 'verbatim' } & Decoration)
  /** One text, a section for each file in the order asked for. */
  | ({ readonly as: 'sections' } & SectionMarks & Decoration)
  /** A text block of its own for each file that could be read, or two: the mark alone, then the text. */
  | ({ readonly as: 'blocks'; readonly open: string } & Decoration)
  /** The text is JSON. */
  | ({ readonly as: 'json' } & JsonShape)
  /** In some other form: only the arguments tell which lines were shown. */
  | { readonly as: 'described' }
  /** A unified diff: the lines of the file that it shows. */
  | { readonly as: 'diff' }
  /**
   * The text is the lines asked for, perhaps with their numbers (`N<TAB>text`). `always`: a text without numbers is a
   * message and no view of the file.
   */
  | { readonly as: 'lines'; readonly numbers: 'always' | 'maybe' | 'never' }
  /** The same for what a command printed. */
  | { readonly as: 'output'; readonly numbers: 'always' | 'never' }
  /** Several files in one text, whose parts a file's content can forge: only our own receipts count. */
  | { readonly as: 'receipts' };

/** What a server adds around the lines. */
export interface Decoration {
  /** A first line that begins like this, and the empty line after it, are not of the file. */
  readonly header?: string;
  /** Last lines that begin with one of these, and the empty line before them, are not of the file. */
  readonly footers?: readonly string[];
}

export interface SectionMarks {
  readonly open: string;
  readonly failed: string;
  readonly close: string;
  readonly between: string;
  /** One file alone comes without marks. */
  readonly aloneVerbatim?: true;
}

/** Field names in a JSON result; dots lead inside. */
export interface JsonShape {
  readonly content: string;
  /** An array of files, each with its `path` and `content`. */
  readonly items?: string;
  readonly path?: string;
  /** The first line shown, counted as `firstLine` (default 1). */
  readonly from?: string;
  readonly firstLine?: 0 | 1;
  /** Any of them true: text follows that is not shown, perhaps from the middle of a line on. */
  readonly more?: string | readonly string[];
  /** Anything but 0 or absent: the text begins somewhere inside the file, and shows no known lines. */
  readonly zero?: string;
}
