import { isRecord, type JsonRecord } from '../../model/record.ts';
import { fromJsonText, itemsOf, plainName } from './rule-scope.ts';
import type { EditArguments, Rule } from './table.ts';
import { tendencyOf } from './tool-words.ts';

/**
 * A server's declarations about a tool. They are untrusted: a change that Lookfirst recognises in
 * the arguments counts as a change, whatever the server declares.
 */
export interface ToolTraits {
  readonly name: string;
  readonly readOnly?: boolean;
}

/** A guess about a tool that is missing from the tables of known servers. */
interface Inference {
  readonly rules: readonly Rule[];
  /** True if the tool may change something, so that the policy for unknown tools applies. */
  readonly mayChange: boolean;
}

const PATH = names(
  'path file filepath filename absolutepath relativepath fullpath targetfile targetpath notebookpath',
  'directory dir folder dirpath directorypath folderpath cwd workdir workingdirectory',
);
const PATHS = names('paths files filepaths filenames');
const SOURCE = names('source src sourcepath sourcefile oldpath frompath');
const DESTINATION = names('destination dest destinationpath newpath topath');
const CONTENT = names('content contents text filetext newcontent filecontent filecontents data body');
const OLD = names('oldstring oldtext oldstr search find searchtext');
const NEW = names('newstring newtext newstr replace replacement replacetext');
const EDITS = names('edits replacements changes');
const COMMAND = names('command cmd script shellcommand');

/**
 * Guesses the effect of a call from its arguments, the tool's name and its annotations. Only clear
 * cases count as changes, for example a path with content, or an old and a new text. Any other path
 * counts as read if the tool clearly only reads. Otherwise the path only has to be inside the
 * workspace.
 */
export function inferRules(tool: ToolTraits, args: JsonRecord): Inference {
  const tendency = tendencyOf(tool.name);
  const changing = changesOf(tool.name, args);
  const mayChange =
    changing.length > 0 || (tool.readOnly === undefined ? tendency !== 'reads' : !tool.readOnly);
  if (mayChange && changing.length > 0) return { rules: changing, mayChange };
  return {
    rules: [...looks(args, !mayChange && tendency === 'reads' ? 'read' : 'look'), ...runs(args)],
    mayChange,
  };
}

/** Objects in the arguments are searched up to this depth; deeper ones are ignored. */
const MAX_DEPTH = 5;
/**
 * Names of arguments that hold variables or headers. The keys inside are not arguments: the
 * variable `PATH` is not the path of a file.
 */
const VARIABLES = names('env environment headers');
/**
 * Usual names of an object that holds all arguments. Only under these names, the object may also be
 * JSON text.
 */
const WRAPPER = names('params parameters args arguments kwargs input request options');

/** An object that may contain arguments, and the property names that lead to it, outermost first. */
interface ArgumentSet {
  readonly at: readonly string[];
  readonly args: JsonRecord;
}

/**
 * The call's arguments, and every object among them that may contain further arguments, such as
 * `params: {path}`. The text of a file is not searched, even if it is JSON.
 */
export function argumentSets(args: JsonRecord, at: readonly string[] = []): ArgumentSet[] {
  if (at.length === MAX_DEPTH) return [{ at, args }];
  const inner = Object.entries(args).flatMap(([key, value]) => {
    const name = plainName(key);
    if ([VARIABLES, CONTENT, OLD, NEW].some((set) => set.has(name))) return [];
    const nested = WRAPPER.has(name) ? fromJsonText(value) : value;
    return isRecord(nested) ? argumentSets(nested, [...at, key]) : [];
  });
  return [{ at, args }, ...inner];
}

function changesOf(name: string, args: JsonRecord): Rule[] {
  const source = keyOf(args, SOURCE);
  const destination = keyOf(args, DESTINATION);
  if (source !== undefined && destination !== undefined)
    return [{ does: /copy|duplicate/i.test(name) ? 'copy' : 'move', source, destination }];
  const path = keyOf(args, PATH);
  if (path === undefined) return [];
  const edit = editOf(args);
  if (edit !== undefined) return [{ does: 'edit', path, edit }];
  const content = keyOf(args, CONTENT);
  if (content !== undefined) return [{ does: /append/i.test(name) ? 'insert' : 'write', path, content }];
  if (tendencyOf(name) !== 'reads' && bringsText(args)) return [{ does: 'touch', path }];
  if (/(^|[^a-z])(delete|remove|unlink|rm)([^a-z]|$)/i.test(name))
    return [{ does: 'delete', path, recursive: 'recursive' }];
  return [];
}

/**
 * True if the name of an argument means a text or edits, in whatever form its value is. The server
 * may understand a form that Lookfirst does not.
 */
function bringsText(args: JsonRecord): boolean {
  return Object.keys(args).some((key) => {
    const given = args[key] !== undefined && args[key] !== null;
    return given && [CONTENT, OLD, NEW, EDITS].some((set) => set.has(plainName(key)));
  });
}

function editOf(args: JsonRecord): EditArguments | undefined {
  const old = keyOf(args, OLD);
  const replacement = keyOf(args, NEW);
  if (old !== undefined && replacement !== undefined) return { old, new: replacement };
  for (const [each, items] of Object.entries(args)) {
    const first = EDITS.has(plainName(each)) ? itemsOf(items)[0] : undefined;
    const inner = isRecord(first) ? editOf(first) : undefined;
    if (inner !== undefined && inner.each === undefined) return { ...inner, each };
  }
  return undefined;
}

function looks(args: JsonRecord, does: 'read' | 'look'): Rule[] {
  const shown = { as: 'found' } as const;
  const rule = (place: { readonly path: string; readonly each?: string }): Rule =>
    does === 'read' ? { does, ...place, shown } : { does, ...place };
  return Object.keys(args).flatMap((key) => {
    if (namesPath(key, args[key])) return [rule({ path: key })];
    return PATHS.has(plainName(key)) ? [rule({ each: key, path: '.' })] : [];
  });
}

/**
 * True if an argument's name means a path, such as `file`, or if its value is a `file:` URL. Under
 * such a name, the value may also be an array or an object with paths.
 */
function namesPath(key: string, value: unknown): boolean {
  const name = plainName(key);
  if ([PATH, SOURCE, DESTINATION].some((set) => set.has(name)))
    return typeof value === 'object' ? value !== null : isPath(value);
  const isText = [CONTENT, OLD, NEW, COMMAND].some((set) => set.has(name));
  return !isText && typeof value === 'string' && /^file:\//i.test(value);
}

function runs(args: JsonRecord): Rule[] {
  const command = keyOf(args, COMMAND);
  return command === undefined ? [] : [{ does: 'run', command }];
}

function keyOf(args: JsonRecord, wanted: ReadonlySet<string>): string | undefined {
  return Object.keys(args).find((key) => wanted.has(plainName(key)) && isPath(args[key]));
}

/** True for a path or a `file:` URL, false for any other URL. */
function isPath(value: unknown): boolean {
  return typeof value === 'string' && (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || /^file:/i.test(value));
}

function names(...lists: string[]): ReadonlySet<string> {
  return new Set(lists.join(' ').split(' '));
}
