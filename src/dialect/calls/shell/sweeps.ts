import { type Destroyed, destroyedBy, fedWords, type Listing, type NamedFiles } from './destroyed.ts';
import { moveOperands } from './effects.ts';
import type { ShellCommand } from './shell-command.ts';
import { textOfValue, type Value } from './values.ts';
import { inFolder, programOf, split } from './words.ts';

/**
 * A command's effect on bytes that it does not name one by one, in the order of the line. The bytes
 * themselves depend on the disk. `folder`: where it runs, like the paths of other answers.
 */
export type Sweep = { readonly folder: string } & (
  | TrackedSweep
  /** `git clean`. `args`: those with which git only lists what it would remove. */
  | { readonly kind: 'clean'; readonly args: readonly string[] }
  /** Removes files, or `trees`: folders with everything in them, too. */
  | { readonly kind: 'removal'; readonly of: 'files' | 'trees'; readonly files: NamedFiles }
  /** Drops a stash, by its position, or all of them. */
  | { readonly kind: 'stash'; readonly entry: number | 'all' }
  /** Deletes references, or moves them to another commit. `refs`: full names. */
  | { readonly kind: 'refs'; readonly refs: readonly string[]; readonly onto?: string }
  /** Removes a worktree. */
  | { readonly kind: 'worktree'; readonly path: string }
  /** Removes commits to which only logs lead, or nothing; or writes new commits in place of all. */
  | { readonly kind: 'history'; readonly how: 'expire' | 'prune' | 'rewrite' }
  /** Saves bytes: in the index, in a commit, in a stash. */
  | { readonly kind: 'add'; readonly files: 'all' | 'tracked' }
  | { readonly kind: 'commit'; readonly files: 'staged' | 'tracked' }
  /** Replaces commits with new ones. Only git's logs still name the old ones. */
  | { readonly kind: 'rewrite' }
  | { readonly kind: 'push'; readonly paths: readonly string[]; readonly untracked: boolean }
  /** Brings a stash back. `pop` also drops it. */
  | { readonly kind: 'pop' }
  /** A command of git that is no command of git itself, so it may be an alias of the user. */
  | { readonly kind: 'alias'; readonly name: string; readonly args: readonly string[] }
  /** A git command that gets names from `xargs`. `EACH` is their placeholder. */
  | { readonly kind: 'fed'; readonly words: readonly string[]; readonly names: Listing }
);

/** Git puts other content into tracked files, into the index, or both. */
interface TrackedSweep {
  readonly kind: 'tracked';
  readonly takes: 'files' | 'staged' | 'both';
  /** Limits the sweep; empty means everything. */
  readonly paths: readonly string[];
  /** The commit whose files git writes. It also replaces untracked files of the same names. */
  readonly tree?: string;
}

type Act = Sweep extends infer Each ? (Each extends Sweep ? Omit<Each, 'folder'> : never) : never;

/** The sweeps of a command. Empty if its folder or its words are unknown. `destroyed`: the files that it destroys. */
export function sweepsOf(
  command: ShellCommand,
  destroyed: readonly Destroyed[] = destroyedBy(command),
): readonly Sweep[] {
  const { words, folder } = command;
  if (folder === undefined) return [];
  if (programOf(words[0]) !== 'git')
    return [...removals(folder, command, destroyed), ...fedToGit(folder, command)];
  const call = gitCall(folder, command);
  const acts = call === undefined ? [] : (VERBS.get(call.verb)?.(call) ?? aliased(call));
  return acts.map((act): Sweep => ({ ...act, folder: call?.folder ?? folder }));
}

/** Matches the options of `rm` with which it removes folders. */
const RECURSIVE = /^(?:-[dfiIvrR]*[rR][dfiIvrR]*|--recursive)$/;

/** Matches the path of a repository's git folder. */
const GIT_FOLDER = /(?:^|\/)\.git\/*$/;

function removals(folder: string, command: ShellCommand, destroyed: readonly Destroyed[]): readonly Sweep[] {
  const of = command.words.some((word) => word !== undefined && RECURSIVE.test(word)) ? 'trees' : 'files';
  const moved = moveOperands(command).filter((path) => GIT_FOLDER.test(path));
  // Moving a git folder counts as removing it: the rest of the line may remove it from its new place.
  const lost = moved.map((path): Sweep => ({ kind: 'removal', folder, of: 'trees', files: { path } }));
  const removed = destroyed.flatMap(({ how, files }): Sweep[] =>
    how === 'remove' ? [{ kind: 'removal', folder, of, files }] : [],
  );
  return [...lost, ...removed];
}

/** Matches commands of git that are no alias. Those in `VERBS` need not be here. */
const NO_ALIAS =
  /^(?:annotate|apply|archive|bisect|blame|bundle|cat-file|check-ignore|cherry|clone|config|count-objects|describe|diff(?:-files|-index|-tree)?|fetch|fsck|for-each-ref|format-patch|grep|hash-object|help|init|log|ls-(?:files|remote|tree)|merge-(?:base|file|tree)|mktree|mv|name-rev|notes|pull|push|range-diff|remote|repack|rev-(?:list|parse)|shortlog|show(?:-branch|-ref)?|sparse-checkout|status|submodule|symbolic-ref|update-index|var|version|whatchanged|write-tree)$/;

function aliased({ verb, args }: GitCall): readonly Act[] {
  return NO_ALIAS.test(verb) ? [] : [{ kind: 'alias', name: verb, args }];
}

function fedToGit(folder: string, command: ShellCommand): readonly Sweep[] {
  const { inner, names } = (programOf(command.words[0]) === 'xargs' && fedWords(command)) || {};
  const words = inner?.map(textOfValue) ?? [];
  if (names === undefined || programOf(words[0]) !== 'git' || words.includes(undefined)) return [];
  return [{ kind: 'fed', folder, words: words.flatMap((word) => word ?? []), names }];
}

/** A call of git whose words are all known. */
export interface GitCall {
  readonly verb: string;
  readonly folder: string;
  readonly args: readonly string[];
  /** The values of `-c`. */
  readonly settings: readonly string[];
  readonly operands: readonly string[];
  /** The operands after `--`; undefined without it. */
  readonly after?: readonly string[];
  has(option: RegExp): boolean;
}

/** Matches the options of git itself whose value is the next word. */
const GIT_VALUED = /^(?:-C|-c|--git-dir|--work-tree|--namespace)$/;

/** Matches the options of a verb whose value is the next word. */
const VALUED: ReadonlyMap<string, RegExp> = new Map([
  ['checkout', /^(?:-[bB]|--orphan|--conflict)$/],
  ['switch', /^(?:-[cC]|--orphan|--conflict)$/],
  ['restore', /^(?:-[a-zA-Z]*s|--source)$/],
  ['clean', /^(?:-e|--exclude)$/],
  ['stash', /^(?:-[a-z]*m|--message)$/],
  ['commit', /^(?:-[a-z]*[mFCct]|--(?:message|file|author|date|template|re\w+-message|fixup|squash))$/],
  ['reflog', /^--expire(?:-unreachable)?$/],
]);

/** Splits a call of git into its parts. Undefined if a word is unknown. */
export function gitCall(start: string, { values }: ShellCommand): GitCall | undefined {
  const words = values.slice(1).map(wordOf);
  let folder: string | undefined = start;
  let at = 0;
  for (let word = words[at]; word?.startsWith('-') === true; word = words[at]) {
    const value = words[at + 1];
    if (word === '-C' || word === '--work-tree')
      folder = value === undefined ? undefined : inFolder(folder, value);
    at += GIT_VALUED.test(word) ? 2 : 1;
  }
  const [verb, ...rest] = words.slice(at);
  const args = rest.flatMap((arg) => arg ?? []);
  if (verb === undefined || folder === undefined || args.length < rest.length) return undefined;
  const dash = args.indexOf('--');
  const { options, operands } = split(
    dash === -1 ? args : args.slice(0, dash),
    VALUED.get(verb) ?? /^--pathspec-from-file$/,
  );
  return {
    verb,
    folder,
    args,
    settings: words.slice(0, at).flatMap((word, place, all) => (all[place - 1] === '-c' && word) || []),
    operands: operands.flatMap((operand) => operand ?? []),
    ...(dash === -1 ? {} : { after: args.slice(dash + 1) }),
    has: (option) => options.some((each) => option.test(each)),
  };
}

/** A word as git gets it. A glob that the shell expands becomes a pattern of git that matches the same files. */
function wordOf(value: Value): string | undefined {
  const text = textOfValue(value);
  if (text !== undefined || typeof value !== 'object' || value.pattern.includes('{')) return text;
  return `:(glob)${value.pattern}`;
}

const FORCE = /^(?:-[a-zA-Z]*f|--force$|--discard-changes$)/;

const VERBS: ReadonlyMap<string, (call: GitCall) => readonly Act[]> = new Map([
  ['checkout', checkout],
  ['switch', checkout],
  ['restore', restore],
  ['reset', reset],
  ['read-tree', readTree],
  ['checkout-index', (call: GitCall) => (call.has(FORCE) ? [tracked('files', [])] : [])],
  ['rm', removeTracked],
  ['clean', clean],
  ['stash', stash],
  ['branch', branch],
  ['tag', tag],
  ['update-ref', updateRef],
  ['reflog', reflog],
  ['worktree', worktree],
  ['gc', gc],
  ['prune', (call: GitCall): readonly Act[] => (call.has(/^(?:-n|--dry-run)$/) ? [] : [PRUNE])],
  ['filter-branch', (): readonly Act[] => [{ kind: 'history', how: 'rewrite' }]],
  ['filter-repo', (): readonly Act[] => [{ kind: 'history', how: 'rewrite' }]],
  ...['merge', 'rebase', 'am', 'cherry-pick', 'revert'].map((verb) => [verb, abort] as const),
  ['add', add],
  ['commit', commit],
]);

const REWRITE: Act = { kind: 'rewrite' };
const PRUNE: Act = { kind: 'history', how: 'prune' };

/** With these settings, `git gc` also clears the logs that lead to commits. */
const EXPIRES = /^gc\.reflogExpire\w*=(?:now|all|0|false)/i;

function gc(call: GitCall): readonly Act[] {
  const expiry: readonly Act[] = call.settings.some((each) => EXPIRES.test(each))
    ? [{ kind: 'history', how: 'expire' }]
    : [];
  return call.has(/^--prune(?:=(?!never)|$)/) ? [...expiry, PRUNE] : expiry;
}

function tracked(takes: TrackedSweep['takes'], paths: readonly string[], tree?: string): Act {
  return { kind: 'tracked', takes, paths, ...(tree === undefined ? {} : { tree }) };
}

function checkout(call: GitCall): readonly Act[] {
  const { verb, operands, after } = call;
  const created = branchMade(call);
  const moved: readonly Act[] =
    created === undefined
      ? []
      : [{ kind: 'refs', refs: [`refs/heads/${created}`], onto: operands[0] ?? 'HEAD' }];
  if (call.has(FORCE) && after === undefined) return [...moved, tracked('both', [], operands[0])];
  // No branch is checked out then, so the line may delete the present one.
  if (call.has(/^--orphan$/)) return [REWRITE];
  if (verb === 'switch' || call.has(/^(?:-[bBcC]|--detach|-d)/)) return moved;
  if (after !== undefined)
    return operands[0] === undefined ? [tracked('files', after)] : [tracked('both', after, operands[0])];
  // A single operand may name a branch or files; the disk tells which.
  return operands.length > 1
    ? [tracked('both', operands.slice(1), operands[0]), tracked('files', operands)]
    : operands.map((operand) => tracked('files', [operand]));
}

/** The branch that `checkout -B` or `switch -C` points to another commit. */
function branchMade({ args }: GitCall): string | undefined {
  const at = args.findIndex((arg) => /^-[BC]$/.test(arg));
  return at === -1 ? undefined : args[at + 1];
}

function restore(call: GitCall): readonly Act[] {
  const { args, operands, after = [] } = call;
  const paths = [...operands, ...after];
  const isStaged = call.has(/^(?:-[a-zA-Z]*S|--staged$)/);
  const isFiles = call.has(/^(?:-[a-zA-Z]*W|--worktree$)/) || !isStaged;
  const at = args.findIndex((arg) => /^(?:-s|--source)/.test(arg));
  const tree = at === -1 ? undefined : (/^--source=(.+)$/.exec(args[at] ?? '')?.[1] ?? args[at + 1]);
  return [tracked(isStaged ? (isFiles ? 'both' : 'staged') : 'files', paths, isFiles ? tree : undefined)];
}

function reset({ operands, after, has }: GitCall): readonly Act[] {
  if (has(/^--(?:soft|keep)$/)) return [];
  if (has(/^--(?:hard|merge)$/)) return [tracked('both', [], operands[0])];
  // The first of several operands may be a commit. As a path it names nothing.
  const paths = operands.filter((each) => !/^(?:HEAD|@)/.test(each));
  return [tracked('staged', after ?? paths)];
}

function readTree(call: GitCall): readonly Act[] {
  return call.has(/^--reset$/) ? [tracked(call.has(/^-u$/) ? 'both' : 'staged', [], call.operands[0])] : [];
}

function removeTracked(call: GitCall): readonly Act[] {
  if (!call.has(FORCE) || call.has(/^(?:-n|--dry-run)$/)) return [];
  return [tracked(call.has(/^--cached$/) ? 'staged' : 'both', [...call.operands, ...(call.after ?? [])])];
}

function abort(call: GitCall): readonly Act[] {
  if (call.has(/^--(?:abort|skip)$/)) return [tracked('both', [])];
  return call.verb === 'rebase' ? [REWRITE] : [];
}

function clean(call: GitCall): readonly Act[] {
  if (!call.has(FORCE) || call.has(/^(?:-[a-zA-Z]*n|--dry-run$)/)) return [];
  const dry = call.args.map((arg) => (/^-[a-zA-Z]+$/.test(arg) ? arg.replace(/[qi]/g, '') : arg));
  return [
    { kind: 'clean', args: ['-n', ...dry.filter((arg) => !/^(?:-|--quiet|--interactive)$/.test(arg))] },
  ];
}

function stash(call: GitCall): readonly Act[] {
  const [verb = 'push', position] = call.operands;
  const entry = Number(/^(?:stash@\{)?(\d+)\}?$/.exec(position ?? '0')?.[1] ?? Number.NaN);
  if (verb === 'clear') return [{ kind: 'stash', entry: 'all' }];
  if (verb === 'drop') return Number.isNaN(entry) ? [] : [{ kind: 'stash', entry }];
  if (verb === 'pop') return [{ kind: 'pop' }];
  if (verb !== 'push' && verb !== 'save') return [];
  const untracked = call.has(/^(?:-[a-z]*[ua]|--include-untracked$|--all$)/);
  const paths = verb === 'save' ? [] : [...call.operands.slice(1), ...(call.after ?? [])];
  return [{ kind: 'push', paths, untracked }];
}

function branch(call: GitCall): readonly Act[] {
  const { operands } = call;
  if (operands.length === 0 || call.has(/^-[a-z]*r/)) return [];
  const isForced = call.has(/^(?:-[a-z]*f|--force$)/);
  const refs = operands.map((name) => `refs/heads/${name}`);
  if (call.has(/^-[a-z]*D/) || (isForced && call.has(/^(?:-[a-z]*d|--delete$)/)))
    return [{ kind: 'refs', refs }];
  if (call.has(/^-M/) || (isForced && call.has(/^(?:-m|--move$)/)))
    return [{ kind: 'refs', refs: refs.slice(-1) }];
  return isForced ? [{ kind: 'refs', refs: refs.slice(0, 1), onto: operands[1] ?? 'HEAD' }] : [];
}

function tag(call: GitCall): readonly Act[] {
  const refs = call.operands.map((name) => `refs/tags/${name}`);
  return call.has(/^(?:-d|--delete)$/) ? [{ kind: 'refs', refs }] : [];
}

function updateRef(call: GitCall): readonly Act[] {
  const [ref, onto] = call.operands;
  if (ref === undefined) return [];
  if (ref === 'refs/stash') return [{ kind: 'stash', entry: 'all' }];
  if (call.has(/^-d$/)) return [{ kind: 'refs', refs: [ref] }];
  return onto === undefined ? [] : [{ kind: 'refs', refs: [ref], onto }];
}

function reflog(call: GitCall): readonly Act[] {
  const [verb, position = ''] = call.operands;
  const entry = /^(?:refs\/)?stash@\{(\d+)\}$/.exec(position)?.[1];
  if (verb === 'delete' && entry !== undefined) return [{ kind: 'stash', entry: Number(entry) }];
  const isNow = call.args.some((arg) => /^(?:--expire(?:-unreachable)?=)?(?:now|all|0)$/.test(arg));
  return verb === 'expire' && isNow && !call.has(/^(?:-n|--dry-run)$/)
    ? [{ kind: 'history', how: 'expire' }]
    : [];
}

function worktree(call: GitCall): readonly Act[] {
  const [verb, name] = call.operands;
  const path = name === undefined ? undefined : inFolder(call.folder, name);
  return verb === 'remove' && call.has(FORCE) && path !== undefined ? [{ kind: 'worktree', path }] : [];
}

function add(call: GitCall): readonly Act[] {
  if (call.has(/^(?:-A|--all)$/) || call.operands.includes('.')) return [{ kind: 'add', files: 'all' }];
  return call.has(/^(?:-u|--update)$/) ? [{ kind: 'add', files: 'tracked' }] : [];
}

function commit(call: GitCall): readonly Act[] {
  if (call.has(/^--dry-run$/)) return [];
  const files = call.has(/^(?:-[a-z]*a|--all$)/) ? 'tracked' : 'staged';
  return [{ kind: 'commit', files }, ...(call.has(/^--amend$/) ? [REWRITE] : [])];
}
