import type { Rule } from '../table.ts';
import {
  BATCH,
  EDIT,
  INSERT,
  PATCH,
  READ,
  READ_MANY,
  READ_NUMBERED,
  READ_PLAIN,
  SEARCH,
  SHELL,
  TEXT_EDITOR_RULES,
  WRITE,
} from './usual.ts';

/** Rules by name: in lower case without `_` and `-`, and capitalised as the most common hosts write them. */
const RULES: ReadonlyMap<string, readonly Rule[]> = new Map([
  ...named(READ, 'read readfile fileread view viewfile openfile readfilerange'),
  ...named(READ_PLAIN, 'readtextfile readtext'),
  ...named(READ_MANY, 'readmultiplefiles readfiles'),
  ...named(WRITE, 'write writefile filewrite createfile savefile writetextfile'),
  ...named(EDIT, 'edit editfile fileedit multiedit replace strreplace searchreplace'),
  ...named(INSERT, 'insertlines fileinsert'),
  ...named(BATCH, 'applychanges'),
  ...named(TEXT_EDITOR_RULES, 'strreplacebasededittool strreplaceeditor texteditor memory'),
  ...named(PATCH, 'applypatch'),
  ...named(
    SHELL,
    'bash shell localshell execcommand runshellcommand runcommand executecommand runinterminal shellcommand exec',
  ),
  ...named(SEARCH, 'grep grepsearch searchtext ripgrepsearch searchfilecontent'),
]);

/**
 * The server's name that hosts put before a tool's name: `mcp__files__read_file`, `files_read_file`,
 * `files.read_file`.
 */
const PREFIX = /^.*(?:__|[./:])/;

/**
 * The rules of a tool by its name alone, for any host; undefined for an unusual name. The spelling `Read` always
 * means numbered lines.
 */
export function usualRules(name: string): readonly Rule[] | undefined {
  return rulesOf(name) ?? unprefixed(name.replace(PREFIX, ''));
}

function unprefixed(bare: string): readonly Rule[] | undefined {
  return rulesOf(bare) ?? RULES.get(plain(bare)) ?? behindPrefix(bare);
}

function rulesOf(name: string): readonly Rule[] | undefined {
  return name === 'Read' ? READ_NUMBERED : RULES.get(name);
}

/** After an unknown prefix only names of two or more words are recognised: `my_read` is not known to read files. */
function behindPrefix(name: string): readonly Rule[] | undefined {
  const words = name.split('_');
  for (let first = 1; first < words.length - 1; first += 1) {
    const rules = RULES.get(plain(words.slice(first).join('')));
    if (rules !== undefined) return rules;
  }
  return undefined;
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

function named(rules: readonly Rule[], list: string): [string, readonly Rule[]][] {
  return list.split(' ').flatMap((name): [string, readonly Rule[]][] => [
    [name, rules],
    [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, rules],
  ]);
}
