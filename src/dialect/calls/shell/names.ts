import type { ShellCommand } from './shell-command.ts';
import type { WalkedLine } from './walk.ts';
import { inFolder, programOf, type Words } from './words.ts';

/** Maximum number of names per command; further ones are ignored. */
const MAX_NAMES = 200;
/** A longer text is no path. */
const MAX_CHARS = 1000;
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
 * Every path that a line may name. Searches words, values of options, targets of redirections, and
 * path-like text in quoted scripts and here-documents. Skips globs and words with variables. Most
 * of these names belong to no file, so callers must check each. `start`: the folder where relative
 * paths of the line start.
 */
export function namesOf({ commands, texts }: WalkedLine, start: string): readonly string[] {
  return pathsIn([
    ...commands.map(({ words, folder }) => ({ folder, texts: words })),
    { folder: start, texts: texts.map(({ text }) => text) },
  ]);
}

/** The possible paths in texts, each relative to the folder of the texts. */
function pathsIn(
  found: readonly { readonly folder: string | undefined; readonly texts: Words }[],
): readonly string[] {
  const paths = found.flatMap(({ folder, texts }) =>
    texts
      .flatMap((text) => candidates(text ?? ''))
      .flatMap((name) => (name === '' || name.length > MAX_CHARS ? [] : (inFolder(folder, name) ?? []))),
  );
  return [...new Set(paths)].slice(0, MAX_NAMES);
}

/** Programs that run the code which their words or their standard input contain. */
const INTERPRETERS = /^(?:python[\d.]*|node|nodejs|deno|bun|perl|ruby|php|lua|Rscript|osascript)$/;

/** Every path that code in the line may name which an interpreter runs. */
export function scriptNames(commands: readonly ShellCommand[]): readonly string[] {
  const running = commands.filter(({ words }) => INTERPRETERS.test(programOf(words[0])));
  return pathsIn(
    running.map(({ words, redirects, folder }) => ({
      folder,
      texts: [...words.slice(1), ...redirects.map(({ text }) => text)].filter((code) =>
        /[\s'"()]/.test(code ?? ''),
      ),
    })),
  );
}

const SEARCHES: ReadonlySet<string> = new Set(['grep', 'egrep', 'fgrep', 'rg', 'ag', 'ack']);

/** The folders in which commands search files; empty if none runs a search. */
export function searchFolders(commands: readonly ShellCommand[]): ReadonlySet<string> {
  const searching = commands.filter(({ words }) => words.some((word) => SEARCHES.has(programOf(word))));
  return new Set(searching.flatMap(({ folder }) => folder ?? []));
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
