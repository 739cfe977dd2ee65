import { forEachChild, parse, type SyntaxNode } from 'unbash';
import { certainCommands, inFolder, literalOf } from './commands.ts';

/** Maximum number of names per command; further ones are ignored. */
const MAX_NAMES = 200;
const MAX_LENGTH = 100_000;
/** Matches possible paths in a script or quoted text: with a slash or an extension. */
const PATH_LIKE = /[\w@+~.-]*(?:\/[\w@+.-]+)+|[\w@+-]+\.[A-Za-z0-9]{1,8}\b/g;

/**
 * Every path that a command may name, relative to its start folder: words, values of options, targets of
 * redirections, and text that looks like a path in quoted scripts and here-documents. The list is generous, for
 * callers that compare the output with the files; most names belong to no file. Globs and words with variables are
 * skipped.
 */
export function namesOf(command: string): readonly string[] {
  const names = new Set<string>();
  const add = (folder: string | undefined, text: string): void => {
    const path = text === '' || text.length > 1000 ? undefined : inFolder(folder, text);
    if (path !== undefined && names.size < MAX_NAMES) names.add(path);
  };
  if (command.length > MAX_LENGTH) return [];
  for (const { words, folder } of certainCommands(command) ?? [])
    for (const word of words) for (const text of candidates(word ?? '')) add(folder, text);
  for (const text of textsIn(command)) for (const candidate of candidates(text)) add('', candidate);
  return [...names];
}

/** All words and here-documents of a command. */
function textsIn(command: string): readonly string[] {
  const texts: string[] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Word') texts.push(literalOf(node) ?? '');
    if (node.type === 'HereDocBody') texts.push(node.text);
    forEachChild(node, visit);
  };
  visit(parse(command));
  return texts;
}

/** The word itself, the value in `--file=PATH`, and text that looks like a path in a longer text. */
function candidates(word: string): readonly string[] {
  if (/[\s'"()]/.test(word)) return word.match(PATH_LIKE) ?? [];
  if (word.startsWith('-')) return word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : [];
  const assigned = /^[\w-]+=(.+)$/.exec(word)?.[1];
  return assigned === undefined ? [word] : [word, assigned];
}
