import { forEachChild, parse, type SyntaxNode } from 'unbash';
import {
  allCommands,
  certainCommands,
  inFolder,
  literalOf,
  MAX_LENGTH,
  programOf,
  type SimpleCommand,
} from './commands.ts';

/** Maximum number of names per command; further ones are ignored. */
const MAX_NAMES = 200;
/** Words with spaces or quotes do not count as names of files if they have more characters than this. */
const MAX_NAME = 1024;
/**
 * Matches possible paths in a script or quoted text: words with a slash or an extension. A match
 * can start only where a word begins. Otherwise a long word without a path would take quadratic
 * time.
 */
const PATH_LIKE =
  /(?<![\w@+~.-])[\w@+~.-]*(?:\/[\w@+.-]+)+|(?<![\w@+.-])\.?[\w@+-][\w@+.-]*\.[A-Za-z0-9]{1,8}\b/g;

/**
 * Every path that a command may name, relative to its start folder. Searches words, values of options, targets of
 * redirections, and path-like text in quoted scripts and here-documents. Skips globs and words with variables. Most
 * of these names belong to no file, so callers must check each.
 */
export function namesOf(command: string, home?: string): readonly string[] {
  const names = new Set<string>();
  const add = (folder: string | undefined, text: string): void => {
    const path = text === '' || text.length > 1000 ? undefined : inFolder(folder, text);
    if (path !== undefined && names.size < MAX_NAMES) names.add(path);
  };
  if (command.length > MAX_LENGTH) return [];
  for (const { words, folder } of certainCommands(command, home) ?? [])
    for (const word of words) for (const text of candidates(word ?? '')) add(folder, text);
  for (const text of textsIn(command, home)) for (const candidate of candidates(text)) add('', candidate);
  return [...names];
}

/** True if the line chooses files by globs, variables, `xargs` or `-exec`. Only its output then names them. */
export function hasUnknownNames(command: string): boolean {
  return /[*?$[{]|\bxargs\b|\s-exec\b/.test(command);
}

const SEARCHES: ReadonlySet<string> = new Set(['grep', 'egrep', 'fgrep', 'rg', 'ag', 'ack']);

/** The folders in which a line searches files, relative to its start folder; empty if it runs no search. */
export function searchFolders(command: string, home?: string): ReadonlySet<string> {
  const isSearch = ({ words }: Pick<SimpleCommand, 'words'>): boolean =>
    words.some((word) => word !== undefined && SEARCHES.has(programOf(word)));
  const certain = (certainCommands(command, home) ?? []).filter(isSearch);
  if (certain.length > 0) return new Set(certain.flatMap(({ folder }) => folder ?? []));
  return new Set((allCommands(command) ?? []).some(isSearch) ? [''] : []);
}

/** All words and here-documents of a command. */
function textsIn(command: string, home: string | undefined): readonly string[] {
  const texts: string[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Word') texts.push(literalOf(node, home) ?? '');
    if (node.type === 'HereDocBody') texts.push(node.text);
    forEachChild(node, visit);
  };
  visit(parse(command));
  return texts;
}

/** The possible paths in a word: all of it, an option's value, and parts that look like a path. */
function candidates(word: string): readonly string[] {
  // A word with spaces or quotes is a script or other text. If it is short, it may also be one file name with spaces.
  if (/[\s'"()]/.test(word)) {
    const inside = word.match(PATH_LIKE) ?? [];
    return word.length <= MAX_NAME && !word.includes('\n') ? [word, ...inRevision(word), ...inside] : inside;
  }
  if (word.startsWith('-')) return word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : [];
  const assigned = /^[\w-]+=(.+)$/.exec(word)?.[1];
  return assigned === undefined ? [word, ...inRevision(word)] : [word, assigned];
}

/** The path in a git revision, such as `HEAD:PATH`. */
function inRevision(word: string): readonly string[] {
  return /^[\w@^~./-]*:(?!\/\/)(.+)$/.exec(word)?.slice(1) ?? [];
}
