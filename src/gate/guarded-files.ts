import { basename, dirname } from 'node:path';
import { isSettingsFolder, type SettingsFile, settingsFileAt } from '../dialect/clients/settings-files.ts';
import { bytesOfSmall } from '../disk/content.ts';
import { listUnsorted } from '../disk/list.ts';
import { isStartUpFile } from '../judge/guarded-configuration.ts';
import type { NamedPath, State } from '../model/delta.ts';
import type { HostIntent } from '../model/intent.ts';
import { isWithin, type PinnedDirectory, type Place, type ResolvedPath } from '../model/path.ts';
import type { Refusal } from '../model/verdict.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import { NamedDirectory } from '../workspace/pinned.ts';
import type { Located } from '../workspace/workspace.ts';
import { type Asking, bypassFacts } from './announce.ts';
import type { ChangePlan, PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/** The bytes of a file, if they are known. `unknown`: they are not, or the file is too large. */
type Content = Uint8Array | 'unknown' | undefined;

/** A change of one file, as far as it is known before it happens. */
interface GuardedChange {
  /** The names by which the file is known: its canonical path, and the one that the caller gave. */
  readonly paths: readonly string[];
  readonly before: Content;
  /** `link`: a link will be there. */
  readonly after: Content | 'link';
}

/** Settings files larger than this are not parsed. */
export const MAX_SETTINGS_BYTES: number = 8 << 20;

/** Loads the parsers only when a settings file is judged: most processes never change one. */
const settingsJudge = () => import('../dialect/clients/settings-change.ts');
type SettingsJudge = Awaited<ReturnType<typeof settingsJudge>>;

/** The reason why only the user may make this change; undefined if a session may. */
function reasonOf(judge: SettingsJudge, { paths, before, after }: GuardedChange): string | undefined {
  const [path = ''] = paths;
  if (after === 'link') return isSettingsPlace(paths) ? `${path}, because it would become a link` : undefined;
  const file = settingsFileOf(paths);
  if (file === undefined) return undefined;
  if (before !== 'unknown' && after !== 'unknown') {
    const reason = judge.forbiddenSettings(file, { before, after });
    return reason === undefined ? undefined : `${path}, because ${reason}`;
  }
  const isOurs = file.format === 'program' || before === 'unknown' || judge.holdsOurEntries(file, before);
  return isOurs ? `${path}, because it holds the configuration of Lookfirst` : undefined;
}

function settingsFileOf(paths: readonly string[]): SettingsFile | undefined {
  for (const path of paths) {
    const file = settingsFileAt(path);
    if (file !== undefined) return file;
  }
  return undefined;
}

function isSettingsPlace(paths: readonly string[]): boolean {
  return settingsFileOf(paths) !== undefined || paths.some(isSettingsFolder);
}

/** The reason why only the user may change a file that decides which programs run; undefined if a session may. */
export function startUpGuard({ policy }: World, relative: string): string | undefined {
  if (!isStartUpFile(relative) || matchingGlob(policy.commands.trust, relative) !== undefined)
    return undefined;
  return `${relative}, because it decides which programs run`;
}

/** True if the policy or the user lets the session change the file, whatever it decides. */
function isReleased(world: World, asking: Asking, path: Pick<ResolvedPath, 'key' | 'relative'>): boolean {
  if (matchingGlob(world.policy.commands.trust, path.relative) !== undefined) return true;
  return bypassFacts(world, path, asking).bypassedBy !== undefined;
}

/** True if a change of this file is judged by its content before and after. */
function isSettingsFile({ absolute, given }: ResolvedPath): boolean {
  return settingsFileOf([absolute, given]) !== undefined;
}

/**
 * The refusal of a judged change because of what it does to a client's settings; undefined if it may
 * go on.
 */
export function guardPlan(
  world: World,
  asking: Asking,
  plan: ChangePlan,
): Promise<Refusal | undefined> | undefined {
  const ends = plan.deltas
    .flatMap((delta) => endsOf(delta, plan.path))
    .filter((end) => isSettingsPlace(end.paths) && !isReleased(world, asking, end));
  return ends.length === 0 ? undefined : guardEnds(world, plan, ends);
}

async function guardEnds(
  world: World,
  { action, path }: ChangePlan,
  ends: readonly DeltaEnd[],
): Promise<Refusal | undefined> {
  for (const { key, paths, arrives } of ends) {
    const before = contentAt(world, key, 'parents');
    const after = arrives && (await contentOf(world, arrives));
    const reason = reasonOf(await settingsJudge(), { paths, before, after });
    if (reason !== undefined)
      return { code: 'PROTECTED', action, path: path.given, next: 'ask_human', detail: { reason } };
  }
  return undefined;
}

/** A path that a delta changes. `arrives`: the delta, if it puts something there. */
interface DeltaEnd extends Pick<GuardedChange, 'paths'> {
  readonly key: string;
  readonly relative: string;
  readonly arrives?: PlannedDelta | undefined;
}

/** The path of a delta, and the path that a move leaves. */
function endsOf(delta: PlannedDelta, planned: ResolvedPath): readonly DeltaEnd[] {
  const { key, relative, movedFrom } = delta;
  const end = (of: NamedPath, arrives?: PlannedDelta): DeltaEnd => {
    const names = [of.relative, of.key];
    const paths = of.key === planned.key ? [...names, planned.given] : names;
    return { key: of.key, relative: of.relative, paths, arrives };
  };
  const arrival = end({ key, relative }, delta);
  return movedFrom === undefined ? [arrival] : [arrival, end(movedFrom)];
}

/** The content of a path after a delta. */
async function contentOf(world: World, { after, bytes, movedFrom }: PlannedDelta): Promise<Content | 'link'> {
  if (after.kind === 'link') return 'link';
  if (after.kind !== 'file') return undefined;
  if (bytes !== undefined) return bytes();
  if (movedFrom !== undefined) return contentAt(world, movedFrom.key, 'parents');
  return (await world.baselines.recall(after.fingerprint)) ?? 'unknown';
}

/** The present content at a path inside the workspace. */
function contentAt(world: World, path: string, links: 'all' | 'parents'): Content {
  const read = ({ place }: Located): Content => contentIn(place);
  return world.workspace.atOnce({ path, action: 'status', links }, read, () => 'unknown');
}

function contentIn(place: Pick<Place, 'dir' | 'name'>): Content {
  const bytes = bytesOfSmall(place, MAX_SETTINGS_BYTES);
  return bytes === 'too-large' ? 'unknown' : bytes;
}

/**
 * Describes how a program has changed a client's settings in a way that only the user may. Undefined
 * if the change is allowed. Lost entries of ours do not count: hooks report them separately.
 */
export async function forbiddenNow(
  { workspace, policy }: World,
  { key, relative }: NamedPath,
  before: Uint8Array | undefined,
): Promise<string | undefined> {
  const file = settingsFileOf([relative, key]);
  if (file === undefined || matchingGlob(policy.commands.trust, relative) !== undefined) return undefined;
  const read = ({ place }: Located): Content => contentIn(place);
  const after = workspace.atOnce({ path: key, action: 'status', links: 'all' }, read, () => undefined);
  return after === 'unknown' ? undefined : (await settingsJudge()).harmfulSettings(file, { before, after });
}

/** The reason why a session may not change a settings file whose new text is not known. */
export async function guardUnknown(
  world: World,
  asking: Asking,
  path: ResolvedPath,
): Promise<string | undefined> {
  if (!isSettingsFile(path) || isReleased(world, asking, path)) return undefined;
  const before = contentAt(world, path.absolute, 'all');
  const paths = [path.relative, path.absolute, path.given];
  return reasonOf(await settingsJudge(), { paths, before, after: 'unknown' });
}

/** The reason why a write of a command may not be committed; undefined if it may. */
export async function guardCommit(
  world: World,
  path: ResolvedPath,
  written: { readonly after: State; bytesAfter(): Uint8Array | undefined },
): Promise<string | undefined> {
  const paths = [path.relative, path.absolute];
  if (!isSettingsPlace(paths)) return undefined;
  const { after } = written;
  const bytes = after.kind === 'file' ? (written.bytesAfter() ?? 'unknown') : undefined;
  const content = after.kind === 'link' ? 'link' : bytes;
  return reasonOf(await settingsJudge(), {
    paths,
    before: contentAt(world, path.absolute, 'all'),
    after: content,
  });
}

/** An entry of a folder that is moved to `to` or deleted. */
interface DepartingEntry {
  readonly dir: PinnedDirectory;
  readonly name: string;
  readonly path: ResolvedPath;
  readonly to?: ResolvedPath | undefined;
  readonly asking: Asking;
}

/** Returns the test for entries of a folder that only the user may move or delete. */
export async function departureGuard(world: World): Promise<(entry: DepartingEntry) => boolean> {
  const judge = await settingsJudge();
  return ({ dir, name, path, to, asking }) => {
    if (bypassFacts(world, path, asking).bypassedBy !== undefined) return false;
    if (startUpGuard(world, path.relative) !== undefined) return true;
    const isTrusted = ({ relative }: ResolvedPath) =>
      matchingGlob(world.policy.commands.trust, relative) !== undefined;
    const content = contentIn({ dir, name });
    const leaves = { paths: [path.absolute], before: content, after: undefined };
    if (!isTrusted(path) && reasonOf(judge, leaves) !== undefined) return true;
    if (to === undefined || isTrusted(to)) return false;
    return reasonOf(judge, { paths: [to.absolute], before: undefined, after: content }) !== undefined;
  };
}

/**
 * The reason why an agent may not change a file outside the workspace: it is in the state folder, or
 * the change is one that only the user may make in a client's settings.
 */
export async function guardOutside(world: World, intent: HostIntent): Promise<string | undefined> {
  for (const given of namesIn(intent)) {
    const path = world.workspace.canonicalOutside(given);
    if (path === undefined) continue;
    if (isWithin(path, world.home)) return `${path}, because it is in the state folder of Lookfirst`;
    if (!isSettingsPlace([path, given])) continue;
    if (matchingGlob(world.policy.commands.trust, path.slice(1)) !== undefined) continue;
    const before = outsideContent(path);
    const after = contentAfter(world, intent, { given, before });
    const reason = reasonOf(await settingsJudge(), { paths: [path, given], before, after });
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function namesIn(intent: HostIntent): readonly string[] {
  if (intent.kind === 'move') return [intent.source, intent.destination];
  const moveTo = intent.kind === 'edit' || intent.kind === 'insert' ? intent.moveTo : undefined;
  return moveTo === undefined ? [intent.path] : [intent.path, moveTo];
}

function outsideContent(path: string): Content {
  return contentIn({ dir: new NamedDirectory(dirname(path)), name: basename(path) });
}

/** The content of a file after another program's change, as far as the call shows it. */
function contentAfter(
  world: World,
  intent: HostIntent,
  { given, before }: { readonly given: string; readonly before: Content },
): Content {
  switch (intent.kind) {
    case 'write':
      return typeof intent.content === 'string' ? Buffer.from(intent.content) : intent.content;
    case 'delete':
      return undefined;
    case 'move':
      return given === intent.source ? undefined : contentOfGiven(world, intent.source);
    case 'edit':
    case 'insert':
      return intent.moveTo === undefined ? edited(intent, before) : 'unknown';
    case 'mkdir':
      return before;
    case 'touch':
      return 'unknown';
    default:
      return intent satisfies never;
  }
}

function contentOfGiven(world: World, given: string): Content {
  const outside = world.workspace.canonicalOutside(given);
  return outside === undefined ? contentAt(world, given, 'all') : outsideContent(outside);
}

/** The text after edits whose old texts occur as they are; `unknown` for any other edit. */
function edited(intent: Extract<HostIntent, { kind: 'edit' | 'insert' }>, before: Content): Content {
  if (before === 'unknown') return before;
  let text = Buffer.from(before ?? '').toString('utf8');
  if (intent.kind === 'insert')
    return intent.afterLine === undefined ? Buffer.from(text + intent.content) : 'unknown';
  for (const { oldString, newString, replaceAll } of intent.edits) {
    if (oldString === '' || !text.includes(oldString)) return 'unknown';
    text =
      replaceAll === true
        ? text.replaceAll(oldString, () => newString)
        : text.replace(oldString, () => newString);
  }
  return Buffer.from(text);
}

/** True if a file holds entries of ours, or a client's folder holds such a file. */
export async function holdsOurs(world: World, given: string): Promise<boolean> {
  if (!isSettingsPlace([given.replace(/\/+$/, '')])) return false;
  const judge = await settingsJudge();
  const outside = world.workspace.canonicalOutside(given);
  if (outside !== undefined)
    return isOursAt(judge, { dir: new NamedDirectory(dirname(outside)), name: basename(outside) }, outside);
  const look = ({ place }: Located): boolean => {
    const { path } = place;
    if (matchingGlob(world.policy.commands.trust, path.relative) !== undefined) return false;
    return isOursAt(judge, place, path.absolute) || isOursAt(judge, place, given);
  };
  return world.workspace.atOnce({ path: given, action: 'status' }, look, () => false);
}

function isOursAt(judge: SettingsJudge, place: Pick<Place, 'dir' | 'name'>, path: string): boolean {
  const file = settingsFileAt(path);
  const content = file && contentIn(place);
  if (file !== undefined) return content === 'unknown' || judge.holdsOurEntries(file, content);
  if (!isSettingsFolder(path)) return false;
  let folder: PinnedDirectory | undefined;
  try {
    folder = place.dir.enter(place.name);
  } catch {
    // There is no folder, so it holds nothing.
    return false;
  }
  const dir = folder;
  try {
    return listUnsorted(dir).some(({ name }) => isOursAt(judge, { dir, name }, `${path}/${name}`));
  } finally {
    dir.close();
  }
}
