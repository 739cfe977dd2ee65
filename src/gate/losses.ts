import { dirname } from 'node:path';
import { byPath, type Delta, type State, sameContent } from '../model/delta.ts';
import type { NewChangeEntry, NewEntry } from '../model/entry.ts';
import type { Notice } from '../model/results.ts';
import { GitCopies, gitNames } from '../process/git-copies.ts';
import { countOf } from '../report/amounts.ts';
import { clip, phrase } from '../report/bounded.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { hasNoLines } from '../text/decode.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { authorOf, filledLines, isOwnRepository, keptBytes } from './authors.ts';
import { existsAt, readableAt } from './found.ts';
import { ChangedGit } from './git-losses.ts';
import { outputTest } from './outputs.ts';
import type { World } from './world.ts';

/** A notice names at most this many lost things and counts the rest. */
const MAX_NAMED = 10;
/**
 * Maximum number of lost files whose writers are looked up in the journal. The rest counts as
 * written by others.
 */
const MAX_AUTHORS = 200;
/** Time limit for all questions to git. */
const GIT_MS = 5_000;

/** The change of a command, as it was recorded. */
export type CommandChange = Pick<NewChangeEntry, 'change' | 'deltas' | 'text' | 'root'>;

/** A file whose bytes a command removed. `victim`: another session, if it had left these bytes there. */
interface LostFile {
  readonly delta: Delta;
  readonly victim?: string;
  /** True if a stash has a copy. */
  readonly inStash?: true;
}

/**
 * The things that a command has removed. `names`: descriptions for the agent. `inStash`: the files
 * of which a stash has a copy.
 */
export interface Losses {
  readonly names: readonly string[];
  readonly inStash: readonly string[];
  readonly files: readonly LostFile[];
  /** True if an undo of the files must also bring back git's own files. */
  readonly needsGit: boolean;
}

/**
 * Finds what a command has removed that exists nowhere else and that its session did not make:
 * files, staged content, commits, branches and stashes.
 */
export async function findLosses(
  world: World,
  knowledge: Knowledge,
  command: CommandChange,
): Promise<Losses> {
  const { deltas, text = '' } = command;
  const signal = AbortSignal.timeout(GIT_MS);
  const gits = gitFolders(world, deltas).map((folder) => new ChangedGit(world, { folder, deltas, signal }));
  const names: string[] = [];
  let needsGit = false;
  for (const each of gits) {
    names.push(...(await each.lostCommits(text)));
    const { lost, moved } = await each.lostStaged(text);
    names.push(...lost.map((path) => `staged content of ${path}`));
    needsGit ||= moved.length > 0;
  }
  const files = await lostFiles(world, knowledge, { command, gits, signal });
  const nowhere = files.filter(({ inStash }) => inStash === undefined);
  const inStash = files.filter((each) => each.inStash === true).map(({ delta }) => delta.relative);
  const all = [...namesOf(world, nowhere), ...names];
  return { names: all, inStash, files: nowhere, needsGit: needsGit || all.length > 0 };
}

/**
 * Records a notice about what a command removed, and one for each other session whose work it was.
 * Returns the notice for the command's session. The caller has recorded the change.
 */
export async function recordLosses(
  world: World,
  knowledge: Knowledge,
  { command, losses }: { readonly command: Omit<CommandChange, 'deltas'>; readonly losses: Losses },
): Promise<readonly Notice[]> {
  const { change, text = '', root } = command;
  const { names, inStash, files } = losses;
  const held: readonly Notice[] =
    inStash.length === 0
      ? []
      : [
          {
            kind: 'in-stash',
            paths: inStash.slice(0, MAX_NAMED),
            cut: Math.max(0, inStash.length - MAX_NAMED),
          },
        ];
  if (names.length === 0) return held;
  const cut = Math.max(0, names.length - MAX_NAMED);
  const notice: Notice = { kind: 'destroyed', change, names: names.slice(0, MAX_NAMED), cut };
  const atMs = world.now();
  const entries: NewEntry[] = [
    { kind: 'notice', atMs, ...knowledge.author, root, change, text: describeNotice(notice), loss: 'caused' },
    ...victimsOf(files).map(([session, paths]) => {
      const words = { by: knowledge.session, command: clip(phrase(text), MAX_COMMAND_CHARS), paths, change };
      const suffered: Notice = { kind: 'work-destroyed', ...words };
      const what = { change, text: describeNotice(suffered), loss: 'suffered' } as const;
      return { kind: 'notice', atMs, session, root, ...what } as const;
    }),
  ];
  await world.store.record({ entries });
  return [notice, ...held];
}

/** Finds and records what a command removed whose change is recorded already. */
export async function noteLosses(
  world: World,
  knowledge: Knowledge,
  command: CommandChange,
): Promise<readonly Notice[]> {
  const losses = await findLosses(world, knowledge, command);
  return recordLosses(world, knowledge, { command, losses });
}

/** Number of a session's newest notices to search. */
const MAX_SEARCHED = 50;

/**
 * The texts about this session's work that commands of other sessions have removed since it was last
 * told. Records that it is told now.
 */
export async function untoldLosses(world: World, knowledge: Knowledge): Promise<readonly string[]> {
  const { session } = knowledge;
  const notices = await world.store.entries({ session, kinds: ['notice'], limit: MAX_SEARCHED });
  const told = notices.findIndex(({ loss }) => loss === 'told');
  const fresh = told === -1 ? notices : notices.slice(0, told);
  const texts = fresh.flatMap(({ loss, text }) => (loss === 'suffered' && text !== undefined ? [text] : []));
  if (texts.length === 0) return [];
  const root = world.workspace.roots[0] ?? '';
  const entry = { kind: 'notice', atMs: world.now(), ...knowledge.author, root, loss: 'told' } as const;
  await world.store.record({ entries: [{ ...entry, text: 'told that its work was removed' }] });
  return texts.reverse();
}

const MAX_COMMAND_CHARS = 100;

/** The git folders in which a command changed files, without those that it removed. */
function gitFolders(world: World, deltas: readonly Delta[]): readonly string[] {
  const folders = deltas.flatMap(({ key }) => /^(.*?\/\.git)\//.exec(key)?.[1] ?? []);
  return [...new Set(folders)].filter((folder) => existsAt(world, `${folder}/HEAD`));
}

async function lostFiles(
  world: World,
  knowledge: Knowledge,
  { command, gits, signal }: { command: CommandChange; gits: readonly ChangedGit[]; signal: AbortSignal },
): Promise<readonly LostFile[]> {
  const { deltas, change } = command;
  const { session } = knowledge;
  const changed = deltas.filter(({ before, after }) => !sameContent(before, after));
  const arrived = new Set(changed.flatMap(({ after }) => hashOf(after)));
  const isOutput = outputTest(world);
  const left = new Set(byPath(changed).flatMap(({ before }) => hashOf(before)));
  const candidates = changed.filter(
    ({ key, relative, before, after }) =>
      (before.kind === 'file' ? before.fingerprint.size > 0 : before.kind === 'link') &&
      after.kind !== 'directory' &&
      !hashOf(before).some((hash) => arrived.has(hash)) &&
      !gits.some(({ folder }) => key.startsWith(`${folder}/`)) &&
      !/(^|\/)\.git$/.test(relative) &&
      !isOutput(relative),
  );
  const own = await ownRepositories(world, knowledge, { ...command, deltas: candidates });
  const others = candidates.filter(({ key }) => !own.some((folder) => key.startsWith(`${folder}/.git/`)));
  if (others.length === 0) return [];
  const folders = [...world.workspace.roots, ...new Set(others.map(({ key }) => dirname(key)))];
  const more = await contentsOfChanged(world, gits, signal);
  const copies = new GitCopies(world.processes.gitFacts, { signal, folders, search: 'all', more });
  const lost: LostFile[] = [];
  for (const delta of others) {
    if (!(await isDropped(world, delta, { copies, left }))) continue;
    const author =
      lost.length < MAX_AUTHORS
        ? await authorOf(world, { ...delta, change }, { own: session, copies })
        : undefined;
    if (author === undefined) lost.push({ delta });
    else if (author !== session) lost.push({ delta, victim: author });
  }
  return withHolders(world, lost, copies);
}

/** Finds the repositories in which a command removed git's files and that this session has created. */
async function ownRepositories(
  world: World,
  { session }: Knowledge,
  { deltas, change }: CommandChange,
): Promise<readonly string[]> {
  const tops = new Set(deltas.flatMap(({ key }) => /^(.*?)\/\.git\//.exec(key)?.[1] ?? []));
  const own: string[] = [];
  for (const top of tops) if (await isOwnRepository(world, top, { own: session, change })) own.push(top);
  return own;
}

/** Leaves out files of which a reference keeps a copy, and marks those of which only a stash does. */
async function withHolders(
  world: World,
  lost: readonly LostFile[],
  copies: GitCopies,
): Promise<readonly LostFile[]> {
  const names = new Map<LostFile, readonly string[]>();
  for (const each of lost.slice(0, MAX_AUTHORS)) {
    const bytes = each.victim === undefined ? await keptBytes(world, each.delta.before) : undefined;
    if (bytes !== undefined) names.set(each, gitNames(bytes));
  }
  const holders = await copies.holders([...names.values()].flat());
  return lost.flatMap((each): LostFile[] => {
    const holder = names.get(each)?.flatMap((name) => holders.get(name) ?? [])[0];
    if (holder === 'commit') return [];
    return [holder === 'stash' ? { ...each, inStash: true } : each];
  });
}

/** The hashes of files that commits had before a command, or have now, if it changed git's files. */
async function contentsOfChanged(
  { processes }: World,
  gits: readonly ChangedGit[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const each of gits)
    for (const blob of await processes.gitFacts.contentsOf(each.folder, await each.commits(), signal))
      found.add(blob);
  return found;
}

function hashOf(side: State): readonly string[] {
  if (side.kind === 'link') return [`link ${side.target}`];
  return side.kind === 'file' ? [side.fingerprint.sha256] : [];
}

/**
 * True if a command has removed a file's bytes: it deleted the file, emptied it, put committed
 * content or another file in its place, or dropped most of its lines. Bytes that a commit has are not
 * removed. `left`: the hashes of contents that the command took from their paths.
 */
async function isDropped(
  world: World,
  { key, before, after }: Delta,
  { copies, left }: { readonly copies: GitCopies; readonly left: ReadonlySet<string> },
): Promise<boolean> {
  if (before.kind === 'link')
    return after.kind === 'absent' && !(await copies.isCheckedOut(Buffer.from(before.target)));
  const bytes = await keptBytes(world, before);
  if (bytes !== undefined && (await copies.isCheckedOut(bytes))) return false;
  if (after.kind !== 'file' || after.fingerprint.size === 0 || bytes === undefined) return true;
  if (hashOf(after).some((hash) => left.has(hash))) return true;
  const now = (await readableAt(world, key))?.snapshot?.bytes;
  if (now === undefined) return false;
  if (await copies.isCheckedOut(now)) return true;
  return hasNoLines(bytes) ? now.byteLength * 2 < bytes.byteLength : dropsMostLines(bytes, now);
}

const MIN_LINES = 4;

function dropsMostLines(before: Uint8Array, after: Uint8Array): boolean {
  const [was, is] = [filledLines(before), new Set(filledLines(after))];
  const left = was.filter((line) => is.has(line)).length;
  // An ordinary edit of a short file may replace most of its lines, or the only line of a file.
  return was.length < MIN_LINES ? was.length > 1 && left === 0 : left * 2 < was.length;
}

/** The names of lost files. Files in a folder that is gone, too, are named together by the folder. */
function namesOf({ workspace }: World, files: readonly LostFile[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { delta } of files) {
    if (workspace.pathOf(delta.key) === undefined) {
      // The worktree around the file is gone.
      const top = `${delta.key.slice(0, -delta.relative.length)}`;
      counts.set(top, (counts.get(top) ?? 0) + 1);
      continue;
    }
    const resolved = workspace.resolve(delta.key, 'undo', 'parents');
    const missing = resolved.ok && !resolved.exists ? resolved.missing.length : 1;
    const shown = workspace.shownAt(delta);
    const name =
      missing < 2
        ? shown
        : `${shown
            .split('/')
            .slice(0, 1 - missing)
            .join('/')}/`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) =>
    count === 1 && !name.endsWith('/') ? name : `${name} (${countOf(count, 'file')})`,
  );
}

function victimsOf(files: readonly LostFile[]): readonly (readonly [string, readonly string[]])[] {
  const found = new Map<string, string[]>();
  for (const { delta, victim } of files)
    if (victim !== undefined) found.set(victim, [...(found.get(victim) ?? []), delta.relative]);
  return [...found];
}
