import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import type { Refusal, RefusalCode } from '../../model/verdict.ts';
import { heldByGit } from '../../process/git-status.ts';
import { gitNames } from '../authors.ts';
import { readableAt } from '../found.ts';
import { isOutput } from '../outputs.ts';
import type { Denied } from '../prepared.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { type AllowedChanges, judgeAll } from './judge-all.ts';
import { type ShellChange, statsAt } from './line-changes.ts';
import { isOwnWork } from './own-work.ts';
import { heldBeside } from './would-destroy.ts';

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

/**
 * The refusals of changes that a shell line makes. For changes that destroy, all of them; otherwise
 * the first. `onOthers`: judges an allowed change by the work of other sessions.
 */
export async function deniedChanges(
  scene: ShownScene,
  { changes, line }: { readonly changes: readonly ShellChange[]; readonly line: ShellLine },
  onOthers: OnOthers,
): Promise<readonly Judged[]> {
  const lost: Lost[] = [];
  const committed = changes.length > MAX_DENIED ? await committedAmong(scene.world, changes) : new Set();
  for (const change of changes) {
    if (lost.length >= MAX_DENIED) break;
    if (committed.has(change)) continue;
    if (isFolderOrNothing(scene.world, change)) continue;
    const denied = await deniedChange(scene, change, onOthers);
    const [first] = denied;
    if (first === undefined) continue;
    if (change.how !== 'destroy' || first.refusal.code === 'PROTECTED') return denied;
    lost.push({ change, denied });
  }
  if (lost.length === 0) return [];
  return (await existingNowhereElse(scene, lost, line)).flatMap(({ denied }) => denied);
}

/** Finds the changes that only destroy files that are in the last commit and that no rule protects. */
async function committedAmong(
  world: World,
  changes: readonly ShellChange[],
): Promise<ReadonlySet<ShellChange>> {
  const paths = new Map<ShellChange, string>();
  for (const change of changes) {
    const { intent, how } = change;
    if (how !== 'destroy' || intent.kind === 'move') continue;
    const found = world.workspace.resolve(intent.path, 'delete');
    if (found.ok) paths.set(change, found.path.absolute);
  }
  const held = await heldByGit([...paths.values()], AbortSignal.timeout(GIT_MS));
  return new Set([...paths.keys()].filter((change) => held.get(paths.get(change) ?? '') === 'commit'));
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
  if (how === 'replace' && (await isOwnWork(scene, path))) return [];
  // For a file that is not text it is enough that the session could delete it, because a command
  // can write such a file.
  if (code === 'NOT_TEXT' && (await judgeAll(scene, [{ kind: 'delete', path }])).ok) return [];
  return judged.denied;
}

/**
 * The changes that destroy bytes which exist nowhere else: not in the last commit or, if it stays,
 * in the index. Leaves out the session's own work and what tools can make again.
 */
async function existingNowhereElse(
  scene: ShownScene,
  lost: readonly Lost[],
  line: ShellLine,
): Promise<readonly Lost[]> {
  const { world } = scene;
  const places = lost.map((each) => {
    const { intent } = each.change;
    const resolved = world.workspace.resolve(
      intent.kind === 'move' ? intent.destination : intent.path,
      'status',
    );
    return { ...each, path: resolved.ok ? resolved.path : undefined };
  });
  const absolute = places.flatMap(({ path }) => path?.absolute ?? []);
  const signal = AbortSignal.timeout(GIT_MS);
  const held = await heldByGit(absolute, signal);
  const found: (Lost & { readonly names: readonly string[] })[] = [];
  for (const { path, ...each } of places) {
    const state = path === undefined ? 'nowhere' : held.get(path.absolute);
    const isHeld = state === 'commit' || (state === 'index' && each.change.unstages !== true);
    const isUnknownToGit = state === 'ignored' || state === 'no-repository';
    const isMade = isUnknownToGit && path !== undefined && isOutput(world, path.relative);
    const isOurs = path !== undefined && (await isOwnWork(scene, path.absolute));
    if (!isHeld && !isMade && !isOurs) found.push({ ...each, names: await namesAt(world, path?.key) });
  }
  const { contents, dropsRefs } = heldBeside(world, line, signal);
  const others = await contents.held(dropsRefs ? [] : found.flatMap(({ names }) => names));
  return found.filter(({ names }) => !names.some((name) => others.has(name)));
}

/** The names that git may give to the present content of a file. */
async function namesAt(world: World, key: string | undefined): Promise<readonly string[]> {
  const found = key === undefined ? undefined : await readableAt(world, key);
  return found?.snapshot === undefined ? [] : gitNames(found.snapshot.bytes);
}
