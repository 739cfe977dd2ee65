import { forEachChild, parse, type SyntaxNode } from 'unbash';
import { certainCommands, inFolder, literalOf } from './commands.ts';

/** More names than this in one command are not looked at. */
const MAX_NAMES = 200;
const MAX_LENGTH = 100_000;
/** What may be a path inside a script or another quoted text: it has a slash or an extension. */
const PATH_LIKE = /[\w@+~.-]*(?:\/[\w@+.-]+)+|[\w@+-]+\.[A-Za-z0-9]{1,8}\b/g;

/**
 * Every path that a command may name, as seen from where it starts: its words, what options assign, the targets of
 * redirections, and what looks like a path in quoted scripts and here-documents. A generous list, for callers that
 * compare the output with the files: globs and words with variables are left out, and most names are of no file.
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

/** All words and here-documents, wherever they are. */
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

/** A word itself, the value in `--file=PATH`, and what looks like a path in a longer text. */
function candidates(word: string): readonly string[] {
  if (/[\s'"()]/.test(word)) return word.match(PATH_LIKE) ?? [];
  if (word.startsWith('-')) return word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : [];
  const assigned = /^[\w-]+=(.+)$/.exec(word)?.[1];
  return assigned === undefined ? [word] : [word, assigned];
}
