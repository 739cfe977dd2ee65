import { type Effect, type NewEntry, type State, sameContent } from '../model/entry.ts';
import type { Notice } from '../model/results.ts';
import { blobsIn } from '../process/git-refs.ts';
import { clip, phrase } from '../report/bounded.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { hasNoLines } from '../text/decode.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { authorOf, CommittedFiles, filledLines, keptBytes } from './authors.ts';
import { readableAt } from './found.ts';
import { ChangedGit } from './git-losses.ts';
import { isOutput } from './outputs.ts';
import type { World } from './world.ts';

/** A notice names at most this many lost things and counts the rest. */
const MAX_NAMED = 10;
/** Of at most this many lost files the journal is asked who wrote them. The rest counts as written by others. */
const MAX_AUTHORS = 200;
/** Time limit for all questions to git. */
const GIT_MS = 5_000;

/** The change of a command, as it was recorded. */
export type CommandChange = Pick<NewEntry, 'effects' | 'text' | 'root'> & { readonly change: string };

/** A file whose bytes a command removed. `victim`: another session, if it had left these bytes there. */
interface LostFile {
  readonly effect: Effect;
  readonly victim?: string;
}

/** What a command has removed. `names`: in words, for the agent. */
export interface Losses {
  readonly names: readonly string[];
  readonly files: readonly LostFile[];
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
  const { effects = [], text = '' } = command;
  const signal = AbortSignal.timeout(GIT_MS);
  const gits = gitFolders(world, effects).map((folder) => new ChangedGit(world, { folder, effects, signal }));
  const names: string[] = [];
  for (const each of gits) {
    names.push(...(await each.lostCommits(text)));
    names.push(...(await each.lostStaged()).map((path) => `staged content of ${path}`));
  }
  const files = await lostFiles(world, knowledge, { command, gits, signal });
  return { names: [...namesOf(world, files), ...names], files };
}

/**
 * Records a notice about what a command removed, and one for each other session whose work it was.
 * Returns the notice for the command's session. The caller has recorded the change.
 */
export async function recordLosses(
  world: World,
  knowledge: Knowledge,
  { command, losses }: { readonly command: CommandChange; readonly losses: Losses },
): Promise<readonly Notice[]> {
  const { change, text = '', root } = command;
  const { names, files } = losses;
  if (names.length === 0) return [];
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
  return [notice];
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
function gitFolders(world: World, effects: readonly Effect[]): readonly string[] {
  const folders = effects.flatMap(({ key }) => /^(.*?\/\.git)\//.exec(key)?.[1] ?? []);
  return [...new Set(folders)].filter((folder) => isThere(world, `${folder}/HEAD`));
}

function isThere({ workspace }: World, key: string): boolean {
  const outcome = workspace.locate(key, 'undo', 'parents');
  if (outcome.ok) outcome.located.place.dir.close();
  return outcome.ok && outcome.located.exists;
}

async function lostFiles(
  world: World,
  knowledge: Knowledge,
  { command, gits, signal }: { command: CommandChange; gits: readonly ChangedGit[]; signal: AbortSignal },
): Promise<readonly LostFile[]> {
  const { effects = [], change } = command;
  const own = knowledge.session;
  const changed = effects.filter(({ before, after }) => !sameContent(before, after));
  const arrived = new Set(changed.flatMap(({ after }) => hashOf(after)));
  const left = new Set(changed.flatMap(({ before }) => hashOf(before)));
  const candidates = changed.filter(
    ({ key, relative, before, after, movedTo }) =>
      movedTo === undefined &&
      (before.kind === 'file' ? before.fingerprint.size > 0 : before.kind === 'link') &&
      after.kind !== 'directory' &&
      !hashOf(before).some((hash) => arrived.has(hash)) &&
      !gits.some(({ folder }) => key.startsWith(`${folder}/`)) &&
      !/(^|\/)\.git$/.test(relative) &&
      !isOutput(world, relative),
  );
  if (candidates.length === 0) return [];
  const committed = await CommittedFiles.now(world, signal, await blobsOfChanged(gits, signal));
  const lost: LostFile[] = [];
  for (const effect of candidates) {
    if (!(await isDropped(world, effect, { committed, left }))) continue;
    const author =
      lost.length < MAX_AUTHORS
        ? await authorOf(world, { ...effect, change }, { own, committed })
        : undefined;
    if (author === undefined) lost.push({ effect });
    else if (author !== own) lost.push({ effect, victim: author });
  }
  return lost;
}

/** The hashes of files that commits had before a command, or have now, if it changed git's files. */
async function blobsOfChanged(
  gits: readonly ChangedGit[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const each of gits)
    for (const blob of await blobsIn(each.folder, await each.commits(), signal)) found.add(blob);
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
  { key, before, after }: Effect,
  { committed, left }: { readonly committed: CommittedFiles; readonly left: ReadonlySet<string> },
): Promise<boolean> {
  if (before.kind === 'link') return after.kind === 'absent';
  const bytes = await keptBytes(world, before);
  if (bytes !== undefined && committed.has(bytes)) return false;
  if (after.kind !== 'file' || after.fingerprint.size === 0 || bytes === undefined) return true;
  if (hashOf(after).some((hash) => left.has(hash))) return true;
  const now = (await readableAt(world, key))?.snapshot?.bytes;
  if (now === undefined) return false;
  if (committed.has(now)) return true;
  return hasNoLines(bytes) ? now.byteLength * 2 < bytes.byteLength : dropsMostLines(bytes, now);
}

const MIN_LINES = 4;

function dropsMostLines(before: Uint8Array, after: Uint8Array): boolean {
  const [was, is] = [filledLines(before), new Set(filledLines(after))];
  // In a shorter file, an ordinary edit replaces most lines.
  return was.length >= MIN_LINES && was.filter((line) => is.has(line)).length * 2 < was.length;
}

/** The names of lost files. Files in a folder that is gone, too, are named together by the folder. */
function namesOf({ workspace }: World, files: readonly LostFile[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { effect } of files) {
    if (workspace.pathOf(effect.key) === undefined) {
      // The worktree around the file is gone.
      const top = `${effect.key.slice(0, -effect.relative.length)}`;
      counts.set(top, (counts.get(top) ?? 0) + 1);
      continue;
    }
    const outcome = workspace.locate(effect.key, 'undo', 'parents');
    if (outcome.ok) outcome.located.place.dir.close();
    const missing = outcome.ok && !outcome.located.exists ? outcome.located.missing.length : 1;
    const shown = workspace.shownAt(effect);
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
    count === 1 && !name.endsWith('/') ? name : `${name} (${count} files)`,
  );
}

function victimsOf(files: readonly LostFile[]): readonly (readonly [string, readonly string[]])[] {
  const found = new Map<string, string[]>();
  for (const { effect, victim } of files)
    if (victim !== undefined) found.set(victim, [...(found.get(victim) ?? []), effect.relative]);
  return [...found];
}
