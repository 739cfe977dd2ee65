import { basename, dirname } from 'node:path';
import type { Refusal, RefusalCode } from '../../model/verdict.ts';
import { repositoryAround } from '../../process/git.ts';
import type { GitCopies } from '../../process/git-copies.ts';
import { statusOf } from '../../process/git-status.ts';
import { isMadeBeside, outputTest } from '../outputs.ts';
import type { Denied } from '../prepared.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { type AllowedChanges, judgeAll } from './judge-all.ts';
import { changeablePaths, type ShellChange, statsAt } from './line-changes.ts';
import { isOwnWork } from './own-work.ts';
import { type ComingLine, copiesBeside } from './would-destroy.ts';

/** Refusal codes to ignore for a command that edits in place: its result is checked afterwards. */
const SETTLED_LATER: ReadonlySet<RefusalCode> = new Set([
  'STALE',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'DELETED',
  'NOT_TEXT',
]);
/**
 * Refusal codes to ignore for a command that destroys a file of which the session has seen the
 * present bytes, or a part of them: the bytes are kept.
 */
const SEEN: ReadonlySet<RefusalCode> = new Set(['PARTIALLY_READ', 'READ_EXPIRED', 'NOT_TEXT']);
/** Time limit for git, in milliseconds. */
const GIT_MS = 5_000;
/** Maximum number of files of one line that are refused one by one. */
const MAX_DENIED = 50;

type Judged = Pick<Denied, 'refusal' | 'credit' | 'evidence'>;
type OnOthers = (judged: AllowedChanges) => Promise<{ readonly refusal: Refusal } | object>;

/** The result of judging the changes of a line one by one. */
interface JudgedChanges {
  /** All refused deletions and overwrites, or only the first refusal if it concerns any other change. */
  readonly denied: readonly Judged[];
  /** Changes that destroy only content that git has. Empty for a line with few changes. */
  readonly held: ReadonlySet<ShellChange>;
}

/** Judges the changes that a shell line makes. `onOthers`: judges an allowed change by the work of other sessions. */
export async function judgeChanges(
  scene: ShownScene,
  { changes, line, cwd }: Pick<ComingLine, 'line' | 'cwd'> & { readonly changes: readonly ShellChange[] },
  onOthers: OnOthers,
): Promise<JudgedChanges> {
  const lost: Lost[] = [];
  const copies = copiesBeside(scene.world, { line, cwd }, AbortSignal.timeout(GIT_MS));
  const held: ReadonlySet<ShellChange> =
    changes.length > MAX_DENIED ? await heldAmong(scene.world, changes, copies) : new Set();
  for (const change of changes) {
    if (lost.length >= MAX_DENIED) break;
    if (held.has(change)) continue;
    if (isFolderOrNothing(scene.world, change)) continue;
    const denied = await deniedChange(scene, change, onOthers);
    const [first] = denied;
    if (first === undefined) continue;
    if (change.how !== 'destroy' || first.refusal.code === 'PROTECTED') return { denied, held };
    lost.push({ change, denied });
  }
  const left = lost.length === 0 ? [] : await existingNowhereElse(scene, lost, copies);
  return { denied: left.flatMap(({ denied }) => denied), held };
}

/** Finds the changes that only destroy files whose content git keeps and that no rule protects. */
async function heldAmong(
  world: World,
  changes: readonly ShellChange[],
  copies: GitCopies,
): Promise<ReadonlySet<ShellChange>> {
  const named = changeablePaths(world, 'delete');
  const paths = new Map<ShellChange, string>();
  for (const change of changes) {
    const { intent, how } = change;
    if (how !== 'destroy' || intent.kind === 'move') continue;
    const path = named(intent.path);
    if (path !== undefined) paths.set(change, path.key);
  }
  const files = [...paths].map(([{ unstages }, path]) => ({ path, unstages }));
  const held = await copies.heldAmong(files);
  return new Set([...paths.keys()].filter((change) => held.has(paths.get(change) ?? '')));
}

interface Lost {
  readonly change: ShellChange;
  readonly denied: readonly Judged[];
}

/**
 * True for a folder, such as the target of `cp -r`: the command line does not name the files in it.
 * For a change that only destroys, also true if there are no bytes to destroy, and for a file of git.
 */
function isFolderOrNothing(world: World, { intent, how }: ShellChange): boolean {
  if (intent.kind !== 'touch' && how !== 'destroy') return false;
  if (intent.kind === 'move') return false;
  if (how === 'destroy' && /(^|\/)\.git\//.test(intent.path)) return true;
  const stats = statsAt(world, intent.path, intent.kind === 'delete' ? 'parents' : 'all');
  if (how !== 'destroy') return stats?.isDirectory() === true;
  const isRefused = stats === undefined && !world.workspace.resolve(intent.path, 'status').ok;
  return !isRefused && (stats?.isFile() !== true || stats.size === 0n);
}

async function deniedChange(
  scene: ShownScene,
  { intent, how }: ShellChange,
  onOthers: OnOthers,
): Promise<readonly Judged[]> {
  const judged = await judgeAll(scene, [intent]);
  if (judged.ok) {
    const told = await onOthers(judged);
    return 'refusal' in told ? [told] : [];
  }
  const { code } = judged.denied[0]?.refusal ?? {};
  if (code === undefined || code === 'OUTSIDE_WORKSPACE') return [];
  if (how === 'edit' ? SETTLED_LATER.has(code) : how === 'destroy' && SEEN.has(code)) return [];
  const path = intent.kind === 'move' ? intent.destination : intent.path;
  if (how === 'replace' && (await isOwnWork(scene, path, 'shown'))) return [];
  // For a file that is not text it is enough that the session could delete it, because a command
  // can write such a file.
  if (code === 'NOT_TEXT' && (await judgeAll(scene, [{ kind: 'delete', path }])).ok) return [];
  return judged.denied;
}

/**
 * The changes that destroy bytes which exist nowhere else: neither staged nor in a commit. Leaves
 * out the session's own work and what tools can make again.
 */
async function existingNowhereElse(
  scene: ShownScene,
  lost: readonly Lost[],
  copies: GitCopies,
): Promise<readonly Lost[]> {
  const { world } = scene;
  const places = lost.map((each) => {
    const { intent, unstages } = each.change;
    const path = intent.kind === 'move' ? intent.destination : intent.path;
    const resolved = world.workspace.resolve(path, 'status');
    return resolved.ok
      ? { each, path: resolved.path.absolute, relative: resolved.path.relative, unstages }
      : { each };
  });
  const held = await copies.heldAmong(places.filter((place) => place.path !== undefined));
  const isOutput = outputTest(world);
  const found: Lost[] = [];
  for (const { each, path, relative } of places) {
    if (path === undefined) found.push(each);
    else if (held.has(path) || (await isOwnWork(scene, path, 'any'))) continue;
    else if (!isOutput(relative) || !(await isMadeAgain(path))) found.push(each);
  }
  return found;
}

/** True for a file that tools can make again: a build result outside git, or a file such as `.DS_Store`. */
async function isMadeAgain(path: string): Promise<boolean> {
  const top = repositoryAround(dirname(path));
  if (top === undefined) return true;
  const asked = { paths: [`:(literal)${basename(path)}`], signal: AbortSignal.timeout(GIT_MS) };
  const [entry] = await statusOf(dirname(path), { ...asked, others: 'ignored' });
  return entry?.index === '!' || (entry?.index === '?' && isMadeBeside(path));
}
