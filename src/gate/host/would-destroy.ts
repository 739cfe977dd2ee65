import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import type { Sweep } from '../../dialect/calls/shell/sweeps.ts';
import { CLAIM_MS } from '../../journal/claims.ts';
import { type ActiveGrant, grantsFor } from '../../journal/grants.ts';
import { judgeDestruction, type ThingAtRisk } from '../../judge/destruction.ts';
import type { State } from '../../model/delta.ts';
import type { EntryOf, NewEntry } from '../../model/entry.ts';
import { isWithin } from '../../model/path.ts';
import { defined } from '../../model/record.ts';
import type { RefusalCode, RefusalOf, Writer } from '../../model/verdict.ts';
import { GitCopies, gitNames } from '../../process/git-copies.ts';
import { readBlobs } from '../../process/git-refs.ts';
import { realFolder } from '../../process/own-files.ts';
import { clip, pathText, phrase } from '../../report/bounded.ts';
import { withoutSecrets } from '../../text/secrets.ts';
import { authorOf, isOwnRepository } from '../authors.ts';
import { reachOutside, readableAt } from '../found.ts';
import { holdsOurs } from '../guarded-files.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { type Threat, Threats } from './at-risk.ts';
import { judgeAll } from './judge-all.ts';
import { MAX_FILE_BYTES } from './keep.ts';
import type { ShellChange } from './line-changes.ts';
import type { OutsideOfLine } from './outside.ts';

/** A command line that is about to run. */
export interface ComingLine {
  readonly line: ShellLine;
  /** The absolute folder where relative paths of the line start. */
  readonly cwd: string;
  /** The host's id of the call, if the host gives calls ids. */
  readonly call?: string | undefined;
  /** When the call arrived. A refusal that was answered later is none that the session knew. */
  readonly arrivedMs: number;
  /** Paths outside the workspace that the line names. Absent if it cannot change anything there. */
  readonly outside?: OutsideOfLine;
}

/** Time limit for all questions to git. */
const GIT_MS = 5_000;
/** The journal is searched for the authors of at most this many files. The rest counts as the user's. */
const MAX_AUTHORS = 200;
/** Likewise for the contents of one stash or branch. */
const MAX_BLOBS = 50;
/** Maximum number of the newest changes of a line's files to search for those of other sessions. */
const MAX_CHANGES = 1_000;
/** In the journal's text for a refusal: the command is cut to this length, and this many things are named. */
const MAX_COMMAND_CHARS = 200;
const MAX_NAMED = 10;
/** Maximum number of a session's newest refusals to search for the same one. */
const MAX_REFUSALS = 20;

/** The refusal of a line that would destroy what exists nowhere else. Undefined if there is nothing. */
export async function destructionOf(
  scene: ShownScene,
  { line, cwd, outside }: ComingLine,
  changes: readonly ShellChange[],
): Promise<RefusalOf<'WOULD_DESTROY'> | RefusalOf<'PROTECTED'> | undefined> {
  const { world } = scene;
  const sweeps = line.sweeps();
  const named = await changedByOthers(scene, changes);
  const beyond = world.policy.hooks.outside === 'destroy' ? (outside?.threats ?? []) : [];
  if (sweeps.length + named.length + beyond.length === 0) return undefined;
  const signal = AbortSignal.timeout(GIT_MS);
  const inside = await new Threats(world, { cwd, where: 'inside', signal }).of(sweeps, named);
  const threats = [...inside, ...beyond];
  if (threats.length === 0) return undefined;
  const owners = new Owners(scene, copiesBeside(world, { line, cwd }, signal), signal);
  const found: OwnedThreat[] = [];
  for (const [at, threat] of threats.entries()) {
    const { owner, names } = at < MAX_AUTHORS ? await owners.of(threat) : USERS;
    const why = (await endsOwnEntries(world, threat)) ? 'own-entries' : threat.why;
    if (typeof owner === 'object') found.push({ ...threat, writer: owner });
    else if (owner === 'user' && why !== 'at-work') found.push({ ...threat, ...defined({ names }), why });
  }
  const { left, used } = await withoutAllowed(scene, await owners.notHeld(found));
  if (used.length > 0) await world.store.record({ entries: used });
  return refusalOf(world, left);
}

/** True if something that would be deleted has our entries for a client. */
async function endsOwnEntries(world: World, { why, path }: Threat): Promise<boolean> {
  const isDeleted = why === 'untracked' || why === 'ignored' || why === 'no-repository';
  return isDeleted && (await holdsOurs(world, path));
}

/** The kinds of sweeps that may remove a reference or a stash. */
const DROPS: ReadonlySet<Sweep['kind']> = new Set(['stash', 'refs', 'history', 'pop', 'alias', 'fed']);

/** The copies in git that a line leaves. If it may remove references, only those in checked-out commits. */
export function copiesBeside(
  { workspace, processes }: World,
  { line, cwd }: Pick<ComingLine, 'line' | 'cwd'>,
  signal: AbortSignal,
): GitCopies {
  const sweeps = line.sweeps();
  const takesTrees = sweeps.some(
    (each) => each.kind === 'worktree' || (each.kind === 'removal' && each.of === 'trees'),
  );
  // The line may remove another repository together with a folder, so do not search other repositories.
  const others = takesTrees ? [] : sweeps.map(({ folder }) => realFolder(resolve(cwd, folder)));
  const dropsRefs = line.harm() === 'git' || sweeps.some(({ kind }) => DROPS.has(kind));
  const folders = [...workspace.roots, ...others];
  return new GitCopies(processes.gitFacts, { signal, folders, search: dropsRefs ? 'checkouts' : 'all' });
}

/** The absolute paths of files that a line destroys or replaces and that other sessions have changed. */
async function changedByOthers(
  { world, knowledge }: ShownScene,
  changes: readonly ShellChange[],
): Promise<readonly string[]> {
  const paths = changes.slice(0, MAX_AUTHORS).flatMap(({ intent, how }) => {
    if (how === 'edit') return [];
    const path = intent.kind === 'move' ? intent.destination : intent.path;
    const resolved = world.workspace.resolve(path, 'status');
    return resolved.ok ? resolved.path : [];
  });
  if (paths.length === 0) return [];
  const keys = paths.map(({ key }) => key);
  const changed = await world.store.entries({ keys, kinds: ['change'], limit: MAX_CHANGES });
  const others = changed.filter(({ session }) => session !== knowledge.session);
  const theirs = new Set(others.flatMap(({ deltas }) => deltas.map(({ key }) => key)));
  return paths.filter(({ key }) => theirs.has(key)).map(({ absolute }) => absolute);
}

type OwnedThreat = Threat & Pick<ThingAtRisk, 'writer'> & Pick<Owned, 'names'>;

/** Names a refused line and what it would destroy, and identifies both, to recognise that the line is repeated. */
export function lineEvidence(
  { line, cwd, call }: ComingLine,
  { detail: { atRisk = [] } = {} }: RefusalOf<'WOULD_DESTROY'>,
): Repeated & Pick<EntryOf<'refusal'>, 'text'> {
  const identity = JSON.stringify([line.text, resolve(cwd, line.folder), atRisk]);
  const content = createHash('sha256').update(identity).digest('hex');
  const command = clip(phrase(withoutSecrets(line.text)), MAX_COMMAND_CHARS);
  const named = atRisk.slice(0, MAX_NAMED).map(({ what, reason }) => `${pathText(what)} (${phrase(reason)})`);
  const more = atRisk.length - named.length;
  const things = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return { content, text: `${command} would destroy ${things}`, ...defined({ call }) };
}

type Repeated = Pick<EntryOf<'refusal'>, 'content' | 'call'>;

/**
 * True if the same line was refused for the same things in this turn, by an answer that the session
 * had before it made this call.
 */
export async function isRepeatedLine(
  { world, knowledge }: ShownScene,
  { arrivedMs }: ComingLine,
  { content, call }: Repeated,
): Promise<boolean> {
  const { session, turn } = knowledge;
  const refusals = await world.store.entries({ session, kinds: ['refusal'], limit: MAX_REFUSALS });
  return refusals.some(
    (entry) =>
      entry.content === content &&
      entry.turn === turn &&
      entry.atMs <= arrivedMs &&
      (call === undefined || entry.call !== call),
  );
}

/** Who made what a line would destroy: `nobody` if it counts for nothing, for example the session itself. */
type Owner = Writer | 'user' | 'nobody';

/** Refusal codes for a file of which the session has seen the present bytes, or a part of them. */
const SEEN: ReadonlySet<RefusalCode> = new Set(['PARTIALLY_READ', 'READ_EXPIRED', 'NOT_TEXT']);

/** An owner, and the blob ids of the user's contents. If they are absent, git cannot be searched for copies. */
interface Owned {
  readonly owner: Owner;
  readonly names?: readonly string[];
}

const USERS: Owned = { owner: 'user' };

class Owners {
  readonly #scene: ShownScene;
  readonly #copies: GitCopies;
  readonly #signal: AbortSignal;

  constructor(scene: ShownScene, copies: GitCopies, signal: AbortSignal) {
    this.#scene = scene;
    this.#copies = copies;
    this.#signal = signal;
  }

  async of(threat: Threat): Promise<Owned> {
    const { kind, contents } = threat;
    const owned = await (contents === undefined ? this.#ofFile(threat) : this.#ofContents(contents));
    if (kind === 'file' || kind === 'index' || owned.owner !== 'user') return owned;
    const { world, knowledge } = this.#scene;
    const top = threat.path.replace(/\/\.git(?:\/.*)?$/, '');
    return { owner: (await isOwnRepository(world, top, { own: knowledge.session })) ? 'nobody' : 'user' };
  }

  /** Leaves out the user's files and staged content of which a reference or a stash keeps a copy. */
  async notHeld(found: readonly OwnedThreat[]): Promise<readonly OwnedThreat[]> {
    const namesOf = ({ kind, names = [] }: OwnedThreat): readonly string[] =>
      kind === 'file' || kind === 'index' ? names : [];
    const held = await this.#copies.holders(found.flatMap(namesOf));
    return found.filter((each) => !namesOf(each).some((name) => held.has(name)));
  }

  async #ofContents({ top, blobs }: Required<Threat>['contents']): Promise<Owned> {
    const known = blobs.slice(0, MAX_BLOBS);
    const asked = known.map(({ blob }) => blob);
    const isRead = known.every(({ bytes }) => bytes !== undefined);
    const contents = isRead
      ? known.map(({ bytes }) => bytes)
      : await readBlobs(top, asked, { signal: this.#signal });
    let owner: Owner = blobs.length > MAX_BLOBS ? 'user' : 'nobody';
    for (const [at, { path }] of known.entries()) {
      const next = await this.#ofBlob(`${top}/${path}`, contents[at]);
      if (typeof next === 'object') return { owner: next };
      if (next === 'user') owner = next;
    }
    return { owner, names: asked };
  }

  async #ofFile({ kind, path, bytes, isNamed }: Threat): Promise<Owned> {
    const key = kind === 'file' && bytes <= MAX_FILE_BYTES ? this.#keyOf(path) : undefined;
    const found = key === undefined ? undefined : await readableAt(this.#scene.world, key);
    if (key === undefined || found === undefined) return USERS;
    const content = found.snapshot?.bytes;
    const owner = await this.#ofContent({ key, before: found.side, bytes: content });
    if (owner === 'user' && isNamed === true && (await this.#hasSeen(path))) return { owner: 'nobody' };
    return content === undefined ? { owner } : { owner, names: gitNames(content) };
  }

  async #ofBlob(path: string, bytes: Buffer | undefined): Promise<Owner> {
    const key = this.#keyOf(path);
    if (key === undefined || bytes === undefined) return 'user';
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const fingerprint = { sha256, size: bytes.byteLength };
    return this.#ofContent({ key, before: { kind: 'file', fingerprint, mode: 0o644, kept: false }, bytes });
  }

  async #ofContent(content: {
    readonly key: string;
    readonly before: State;
    readonly bytes: Uint8Array | undefined;
  }): Promise<Owner> {
    const copies = this.#copies;
    if (content.bytes !== undefined && (await copies.isCheckedOut(content.bytes))) return 'nobody';
    const { world, knowledge } = this.#scene;
    const own = knowledge.session;
    const author = await authorOf(world, content, { own, copies });
    if (author === own) return 'nobody';
    return author === undefined ? 'user' : activeWriter(world, author);
  }

  /** The key of a path. Lets the gate reach it, if it is in another worktree or outside. */
  #keyOf(path: string): string | undefined {
    const { world } = this.#scene;
    const { workspace, claims } = world;
    const top = claims.worktrees.around(path);
    if (top !== undefined) workspace.adopt(top);
    else if (workspace.pathOf(path) === undefined) reachOutside(world, path);
    return workspace.pathOf(path)?.key;
  }

  async #hasSeen(path: string): Promise<boolean> {
    const judged = await judgeAll(this.#scene, [{ kind: 'delete', path }]);
    return judged.ok || judged.denied.every(({ refusal }) => SEEN.has(refusal.code));
  }
}

/** A session of another conversation. Its work counts as the user's if it was not active in the last minutes. */
async function activeWriter({ store, now }: World, session: string): Promise<Owner> {
  const [newest] = await store.entries({ session, limit: 1 });
  if (newest === undefined || newest.atMs < now() - CLAIM_MS) return 'user';
  const client = (await store.session(session))?.client;
  return { session, atMs: newest.atMs, ...(client === undefined ? {} : { client }) };
}

/** Leaves out what the user has allowed by name. `used`: the journal entries of the permissions used. */
async function withoutAllowed(
  { world, knowledge }: ShownScene,
  found: readonly OwnedThreat[],
): Promise<{ readonly left: readonly OwnedThreat[]; readonly used: readonly NewEntry[] }> {
  const keys = found.map(({ path }) => path);
  const grants = keys.length === 0 ? [] : await grantsFor(world.store, keys, knowledge.session);
  const used = new Map<string, NewEntry>();
  const left = found.filter(({ path }) => {
    const grant = grants.find((each) => isWithin(path, each.key));
    if (grant !== undefined) used.set(grant.id, useOf({ world, knowledge }, grant, path));
    return grant === undefined;
  });
  // A permission for one use stays, if the line is refused for something else.
  return { left, used: left.length === 0 ? [...used.values()] : [] };
}

function useOf(
  { world, knowledge }: Pick<ShownScene, 'world' | 'knowledge'>,
  { id }: ActiveGrant,
  key: string,
): NewEntry {
  const root = world.workspace.roots.find((each) => isWithin(key, each)) ?? world.workspace.roots[0] ?? '';
  const text = `allowed by the user (${id})`;
  const entry = { kind: 'bypass', atMs: world.now(), ...knowledge.author, root, action: 'run' } as const;
  return { ...entry, path: key.slice(root.length + 1), key, text, grant: { id } };
}

/** The refusal of a line that threatens these things. A file that the policy protects, such as a private key, is never copied. */
function refusalOf(
  world: World,
  threats: readonly Threat[],
): ReturnType<typeof judgeDestruction> | RefusalOf<'PROTECTED'> {
  for (const { kind, why, path, what } of threats) {
    if (kind !== 'file' || why === 'own-entries') continue;
    const resolved = world.workspace.resolve(path, 'delete');
    if (!resolved.ok && resolved.refusal.code === 'PROTECTED') return { ...resolved.refusal, path: what };
  }
  return judgeDestruction({ things: threats, canBeKept: canBeKept(world, threats) });
}

/** At most this many files can be kept before a command. */
const MAX_KEPT = 2_000;

/** True if everything fits into the limits for what is kept before a command. */
function canBeKept({ policy, workspace }: World, threats: readonly Threat[]): boolean {
  const sum = threats.reduce((bytes, threat) => bytes + threat.bytes, 0);
  const fits = threats.every(({ why, bytes, path }) => {
    if (why === 'outside' && !workspace.resolve(path, 'undo').ok) return false;
    return (why !== 'ignored' && why !== 'outside') || bytes <= MAX_FILE_BYTES;
  });
  return fits && threats.length <= MAX_KEPT && sum <= policy.hooks.keepBytes;
}
