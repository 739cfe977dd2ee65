import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import { CLAIM_MS } from '../../journal/claims.ts';
import { type ActiveGrant, grantCovers, grantsFor } from '../../journal/grants.ts';
import { judgeDestruction, type ThingAtRisk } from '../../judge/destruction.ts';
import type { NewEntry, State } from '../../model/entry.ts';
import { isWithin } from '../../model/path.ts';
import type { RefusalCode, RefusalOf, Writer } from '../../model/verdict.ts';
import { blobsIn, readBlobs, stashesIn } from '../../process/git-refs.ts';
import { authorOf, CommittedFiles } from '../authors.ts';
import { readableAt } from '../found.ts';
import { reachOutside } from '../outside.ts';
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
  /** The host's id of the call. */
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
/** Maximum number of a session's newest refusals to search for the same one. */
const MAX_REFUSALS = 20;

/** The refusal of a line that would destroy what exists nowhere else. Undefined if there is nothing. */
export async function destructionOf(
  scene: ShownScene,
  { line, cwd, outside }: ComingLine,
  changes: readonly ShellChange[],
): Promise<RefusalOf<'WOULD_DESTROY'> | undefined> {
  const { world } = scene;
  const sweeps = line.sweeps();
  const named = await changedByOthers(scene, changes);
  const beyond = world.policy.hooks.outside === 'destroy' ? (outside?.threats ?? []) : [];
  if (sweeps.length + named.length + beyond.length === 0) return undefined;
  const signal = AbortSignal.timeout(GIT_MS);
  const inside = await new Threats(world, { cwd, where: 'inside', signal }).of(sweeps, named);
  const threats = [...inside, ...beyond];
  if (threats.length === 0) return undefined;
  const committed = await CommittedFiles.now(world, signal, await stashedBlobs(world, threats, signal));
  const owners = new Owners(scene, committed, signal);
  const found: OwnedThreat[] = [];
  for (const [at, threat] of threats.entries()) {
    const owner = at < MAX_AUTHORS ? await owners.of(threat) : 'user';
    if (typeof owner === 'object') found.push({ ...threat, writer: owner });
    else if (owner === 'user' && threat.why !== 'at-work') found.push(threat);
  }
  const { left, used } = await withoutAllowed(scene, found);
  if (used.length > 0) await world.store.record({ entries: used });
  return judgeDestruction({ things: left, canBeKept: canBeKept(world, left) });
}

/** At most this many of the newest stashes are searched for the bytes of files. */
const MAX_STASHES = 5;

/** The contents of the newest stashes. Empty if the line takes anything but files and staged content. */
async function stashedBlobs(
  { workspace }: World,
  threats: readonly Threat[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  if (threats.some(({ kind }) => kind !== 'file' && kind !== 'index')) return new Set();
  const found = new Set<string>();
  for (const root of workspace.roots) {
    const commits = stashesIn(root).slice(0, MAX_STASHES);
    const hashes = commits.map(({ hash }) => hash);
    for (const blob of await blobsIn(root, hashes, signal)) found.add(blob);
  }
  return found;
}

/** The absolute paths of files that a line destroys or replaces and that other sessions have changed. */
async function changedByOthers(
  { world, knowledge }: ShownScene,
  changes: readonly ShellChange[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { intent, how } of changes.slice(0, MAX_AUTHORS)) {
    if (how === 'edit') continue;
    const resolved = world.workspace.resolve(
      intent.kind === 'move' ? intent.destination : intent.path,
      'status',
    );
    if (!resolved.ok) continue;
    const { key, absolute } = resolved.path;
    const changed = await world.store.entries({ key, kinds: ['change'], limit: MAX_REFUSALS });
    if (changed.some(({ session }) => session !== knowledge.session)) found.push(absolute);
  }
  return found;
}

type OwnedThreat = Threat & Pick<ThingAtRisk, 'writer'>;

/** Identifies a refused line and what it would destroy, to recognise that it is repeated. */
export function lineEvidence(
  { line, cwd, call }: ComingLine,
  { detail }: RefusalOf<'WOULD_DESTROY'>,
): Repeated {
  const text = JSON.stringify([line.text, resolve(cwd, line.folder), detail?.atRisk]);
  const content = createHash('sha256').update(text).digest('hex');
  return call === undefined ? { content } : { content, call };
}

type Repeated = Pick<NewEntry, 'content' | 'call'>;

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

class Owners {
  readonly #scene: ShownScene;
  readonly #committed: CommittedFiles;
  readonly #signal: AbortSignal;

  constructor(scene: ShownScene, committed: CommittedFiles, signal: AbortSignal) {
    this.#scene = scene;
    this.#committed = committed;
    this.#signal = signal;
  }

  async of(threat: Threat): Promise<Owner> {
    if (threat.contents === undefined) return this.#ofFile(threat);
    const { top, blobs } = threat.contents;
    const known = blobs.slice(0, MAX_BLOBS);
    const names = known.map(({ blob }) => blob);
    const contents = names.length === 0 ? [] : await readBlobs(top, names, { signal: this.#signal });
    let owner: Owner = blobs.length > MAX_BLOBS ? 'user' : 'nobody';
    for (const [at, { path }] of known.entries()) {
      const next = await this.#ofBlob(`${top}/${path}`, contents[at]);
      if (typeof next === 'object') return next;
      if (next === 'user') owner = next;
    }
    return owner;
  }

  async #ofFile({ kind, path, bytes, isNamed }: Threat): Promise<Owner> {
    const key = kind === 'file' && bytes <= MAX_FILE_BYTES ? this.#keyOf(path) : undefined;
    const found = key === undefined ? undefined : await readableAt(this.#scene.world, key);
    if (key === undefined || found === undefined) return 'user';
    const owner = await this.#ofContent({ key, before: found.side, bytes: found.snapshot?.bytes });
    return owner === 'user' && isNamed === true && (await this.#hasSeen(path)) ? 'nobody' : owner;
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
    if (content.bytes !== undefined && this.#committed.has(content.bytes)) return 'nobody';
    const { world, knowledge } = this.#scene;
    const own = knowledge.session;
    const author = await authorOf(world, content, { own, committed: this.#committed });
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
    const grant = grants.find((each) => grantCovers(each, path));
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
