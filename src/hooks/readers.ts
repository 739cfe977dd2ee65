import { allCommands, type SimpleCommand } from '../dialect/calls/shell/commands.ts';
import { writesOf } from '../dialect/calls/shell/writes.ts';

/** Programs that change no files, unless they get an option in `WRITING_OPTIONS`. */
const READERS = new Set(
  'cat head tail less more ls ll stat file wc du grep egrep rg ag find jq diff cmp md5sum sha256sum echo printf cd pwd true false test [ read tree'.split(
    ' ',
  ),
);
const READING_GIT = new Set(['add', 'blame', 'commit', 'diff', 'log', 'ls-files', 'show', 'status']);
/**
 * By program: the options with which a program of `READERS`, or git, writes a file or runs a
 * program. Most programs accept a long option in abbreviated form.
 */
const WRITING_OPTIONS: Readonly<Record<string, RegExp>> = {
  ag: /^--pag/,
  find: /^-(?:delete|exec|ok|fprint|fls)/,
  git: /^--out/,
  less: /^-[^-]*o|^--log/i,
  rg: /^--(?:pre|hostname-bin)(?:=|$)/,
  tree: /^-[^-]*o/,
};

/** True if a shell command certainly changes no file. */
export function onlyReads(command: string): boolean {
  const commands = allCommands(command);
  if (commands === undefined || writesOf(command).length > 0) return false;
  return commands.every(({ words, redirects }) => {
    const [program = '', first = ''] = words.map((word) => word ?? '');
    const name = program.split('/').at(-1) ?? '';
    const writes = Object.hasOwn(WRITING_OPTIONS, name) ? WRITING_OPTIONS[name] : undefined;
    if (words.some((word) => writes?.test(word ?? '')) || !redirects.every(isHarmless)) return false;
    return words.length === 0 || READERS.has(name) || (name === 'git' && READING_GIT.has(first));
  });
}

/** True for a redirection that writes no file, such as `< FILE`, `2>&1` and `2>/dev/null`. */
function isHarmless(redirect: SimpleCommand['redirects'][number]): boolean {
  if (redirect.type !== 'Redirect') return false;
  const { operator, target } = redirect;
  const text = target?.value ?? '';
  return operator === '<' || text === '/dev/null' || (operator === '>&' && /^\d+$/.test(text));
}
