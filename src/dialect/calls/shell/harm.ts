import type { Harm } from '../../../model/session.ts';
import type { ShellCommand, ShellRedirect } from './shell-command.ts';
import { programOf, type Words } from './words.ts';

/** Programs that change no file, whatever their arguments. */
const READERS: ReadonlySet<string> = new Set(
  `: [ basename cat cd cmp cut date df diff dirname du echo egrep export false fgrep file grep head hostname id jq ls
  md5sum nl od printenv printf ps pwd readlink realpath rg seq sha1sum sha256sum shasum sleep stat tail test tr tree
  true type uname wc which whoami`.split(/\s+/),
);

/** Programs that change no file unless an argument matches. */
const READERS_UNLESS: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(delete|exec|ok|fprint|fls)/],
  ['sort', /^-\w*o|^--o/],
]);

/** Git commands that change no file and no reference. The value matches arguments with which they may. */
const GIT_READERS: ReadonlyMap<string, RegExp> = new Map([
  ...[
    'blame',
    'cat-file',
    'describe',
    'grep',
    'ls-files',
    'ls-tree',
    'rev-list',
    'rev-parse',
    'shortlog',
    'status',
  ].map((verb) => [verb, /^--output/] as const),
  ...['diff', 'log', 'show'].map((verb) => [verb, /^--(output|ext-diff)/] as const),
  ['branch', /^(?!(-a|-r|-v|-vv|--list|--show-current|--all|--remotes|--verbose)$)/],
  ['remote', /^(?!(-v|show|get-url)$)/],
  ['stash', /^(?!(list|show)$)/],
]);

const PRUNES = /\b(gc|prune|repack|filter-branch|filter-repo)\b|\breflog\s+(expire|delete)\b/;
const NAMES_GIT = /(^|[\s/'"=])\.git($|[\s/'";&|)])/;

/** Says what a shell line with these commands may destroy. A line that cannot be parsed may destroy anything. */
export function harmOf(line: string, commands: readonly ShellCommand[]): Harm {
  if (commands.length > 0 && commands.every(onlyReads)) return 'nothing';
  return PRUNES.test(line) || NAMES_GIT.test(line) ? 'git' : 'files';
}

function onlyReads({ words, redirects }: ShellCommand): boolean {
  if (!redirects.every(keepsFiles)) return false;
  const [name, ...args] = words;
  if (words.length === 0) return true;
  if (name === undefined) return false;
  const program = programOf(name);
  if (program === 'git') return gitOnlyReads(args);
  if (program === 'sed') return sedOnlyReads(args);
  const unless = READERS_UNLESS.get(program);
  return unless === undefined
    ? READERS.has(program)
    : !args.some((arg) => arg === undefined || unless.test(arg));
}

/** True for `sed` with a script that only prints or drops lines. */
function sedOnlyReads(args: Words): boolean {
  const script = args.findIndex((arg) => arg?.startsWith('-') !== true);
  if (args.slice(script + 1).some((arg) => arg === undefined || arg.startsWith('-'))) return false;
  const options = args.slice(0, script === -1 ? args.length : script);
  return (
    options.every((option) => /^-[nEr]+$/.test(option ?? '')) && /^[\d,;$pdq!= ]+$/.test(args[script] ?? '')
  );
}

/** True for arguments with which git changes no file and no reference. */
export function gitOnlyReads(args: Words): boolean {
  const at = args.findIndex(
    (arg, index) => arg === undefined || !(arg === '--no-pager' || isFolderOption(args, index)),
  );
  const verb = args[at];
  const unless = verb === undefined ? undefined : GIT_READERS.get(verb);
  const rest = args.slice(at + 1);
  if (unless === undefined) return false;
  // `git stash` without an argument makes a stash.
  if (verb === 'stash' && rest.length === 0) return false;
  return verb === 'stash' || verb === 'remote'
    ? rest.length === 0 || (rest[0] !== undefined && !unless.test(rest[0]))
    : !rest.some((arg) => arg === undefined || unless.test(arg));
}

/** True for `-C` and for its value. */
function isFolderOption(args: Words, at: number): boolean {
  return args[at] === '-C' || (at > 0 && args[at - 1] === '-C');
}

/** True for a redirection that writes into no file. */
function keepsFiles({ operator, target }: ShellRedirect): boolean {
  if (operator.startsWith('<') && operator !== '<>') return true;
  return target === '/dev/null' || (operator === '>&' && target !== undefined && /^(\d+|-)$/.test(target));
}
