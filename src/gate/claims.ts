import { CLAIM_MS, claimsIn, inForce, tellsOfClaims } from '../journal/claims.ts';
import type { Claim, ToldClaim } from '../model/claim.ts';
import type { LineRange } from '../model/coverage.ts';
import { byPath, type Delta, isOfFolder } from '../model/delta.ts';
import type { NewEntry } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { isWithin } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { Action, Outcome, Refusal } from '../model/verdict.ts';
import { isMainWorktree, pathExists, worktreesAround } from '../process/git.ts';
import { describeNotice } from '../report/describe-notice.ts';
import type { Store } from '../store/store.ts';
import { diffLines } from '../text/diff.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Baselines } from './baselines.ts';

/** A notice names at most this many claims of other sessions. It leaves out the rest. */
const MAX_TOLD = 3;
/**
 * The notice at the beginning of a turn names at most this many claims of other sessions on files,
 * and counts the rest.
 */
const MAX_AT_WORK = 10;
/** For a change of more files, all recent changes are queried once instead of those of each file. */
const MAX_QUERIES = 20;

interface ClaimsOptions {
  readonly store: Store;
  readonly baselines: Baselines;
  readonly policy: Pick<Policy, 'claims'>;
  readonly workspace: Pick<Workspace, 'roots' | 'shownAt'>;
  now(): number;
}

/** A file that other sessions may have changed. */
interface ClaimedFile {
  readonly key: string;
  readonly root: string;
  readonly relative: string;
}

/**
 * A notice that other sessions work on a file, with its journal entry. It counts as delivered after
 * `confirm` is called.
 */
export interface ClaimNotice {
  readonly notice: Notice;
  readonly entry: NewEntry;
  confirm(): void;
}

/** The files of which a session was told in its present turn, with the time. */
interface Told {
  readonly turn: string | undefined;
  readonly files: Map<string, number>;
}

/**
 * Notifies the sessions of one workspace about each other's work, once per file and turn. A claim
 * is no record: it follows from the changes of the last ten minutes.
 */
export class Claims {
  /**
   * The worktrees of the repositories that contain the roots. Their sessions are notified about
   * each other's work.
   */
  readonly worktrees: Worktrees;
  readonly #options: ClaimsOptions;
  readonly #told = new Map<string, Told>();

  constructor(options: ClaimsOptions) {
    this.#options = options;
    const { workspace, now } = options;
    this.worktrees = new Worktrees({ roots: workspace.roots, now });
  }

  /** True if notices about other sessions are switched off. */
  get areOff(): boolean {
    return this.#options.policy.claims === 'off';
  }

  /**
   * Makes a store on another machine fetch other sessions' changes in the background, so that the
   * first read knows them.
   */
  prefetch(): void {
    if (!this.areOff) this.#options.store.changesSince({ sinceMs: this.#options.now() });
  }

  /**
   * Other sessions' claims on a file, if this session was not notified of them in this turn. Some may
   * have ended. Never waits.
   */
  untold(knowledge: Knowledge, file: ClaimedFile): readonly Claim[] {
    if (this.areOff) return [];
    const claims = this.#byOthers(knowledge, () => this.#keysOf(file));
    return claims.length === 0 || this.#isTold(knowledge, file.key) ? [] : claims;
  }

  /**
   * The notice about other sessions' work on a file, or undefined if those claims have ended or the
   * session was notified in another process. `live`: the file's present fingerprint, needed for line
   * numbers.
   */
  async claimNotice(
    knowledge: Knowledge,
    { file, claims, live }: { file: ClaimedFile; claims: readonly Claim[]; live?: Fingerprint | undefined },
  ): Promise<ClaimNotice | undefined> {
    const open = await inForce(this.#options.store, claims);
    if (open.length === 0 || (await this.#wasToldElsewhere(knowledge, file.key))) return undefined;
    const told: ToldClaim[] = [];
    for (const claim of open.slice(0, MAX_TOLD)) told.push(await this.#toldOf(claim, file, live));
    const notice: Notice = { kind: 'claimed', path: this.#options.workspace.shownAt(file), claims: told };
    return this.#telling(knowledge, notice, file);
  }

  /**
   * For a session to which another program showed a file: notices about other sessions' work on
   * that file. They are recorded as delivered.
   */
  async onRead(
    knowledge: Knowledge,
    resolve: () => Outcome<{ readonly path: ClaimedFile }>,
  ): Promise<readonly Notice[]> {
    if (this.areOff) return [];
    const resolved = resolve();
    const claims = resolved.ok ? this.untold(knowledge, resolved.path) : [];
    if (!resolved.ok || claims.length === 0) return [];
    const file = resolved.path;
    const live = (await knowledge.recall(file.key))?.fingerprint;
    const claimNotice = await this.claimNotice(knowledge, { file, claims, live });
    if (claimNotice === undefined) return [];
    claimNotice.confirm();
    await this.#options.store.note({ views: [], entries: [claimNotice.entry] });
    return [claimNotice.notice];
  }

  /** True if other sessions have changed one of these files lately. Never waits. */
  concern(knowledge: Knowledge, deltas: readonly Delta[]): boolean {
    if (this.areOff) return false;
    const files = this.#concerned(knowledge, deltas);
    return files.some((file) => this.#byOthers(knowledge, () => this.#keysOf(file)).length > 0);
  }

  /**
   * Notices about other sessions' work on the files that a step changes, or a refusal if the policy
   * demands one.
   */
  async onChange(
    knowledge: Knowledge,
    deltas: readonly Delta[],
    { root, action }: { readonly root: string; readonly action: Action },
  ): Promise<{ readonly claimNotices: readonly ClaimNotice[] } | { readonly refusal: Refusal }> {
    const claimNotices: ClaimNotice[] = [];
    if (this.areOff) return { claimNotices };
    for (const { key, relative, before } of this.#concerned(knowledge, deltas)) {
      const file = { key, relative, root };
      const busy = await this.#busy(knowledge, file, action);
      if (busy !== undefined) return { refusal: busy };
      const claims = this.untold(knowledge, file);
      const live = before.kind === 'file' ? before.fingerprint : undefined;
      const claimNotice =
        claims.length === 0 ? undefined : await this.claimNotice(knowledge, { file, claims, live });
      if (claimNotice !== undefined) claimNotices.push(claimNotice);
    }
    return { claimNotices };
  }

  /**
   * Every file that a session works on, in this workspace and the other worktrees of its
   * repository, newest first, with the clients' names.
   */
  async inFamily(): Promise<readonly Claim[]> {
    const folders = [...this.#options.workspace.roots, ...this.worktrees.tops()];
    const isNear = ({ key }: Claim): boolean => folders.some((folder) => isWithin(key, folder));
    const all = claimsIn(this.#options.store.changesSince({ sinceMs: this.#sinceMs() }));
    return inForce(this.#options.store, all.filter(isNear));
  }

  /**
   * The notice at the beginning of a turn, which lists the other sessions' claims on files. A file
   * that it names causes no further notice in this turn. Undefined if there are no such claims.
   */
  async atWork(
    knowledge: Knowledge,
  ): Promise<{ readonly notice: Notice; readonly entries: readonly NewEntry[] } | undefined> {
    if (this.areOff) return undefined;
    // A file may be gone with its worktree.
    const isThere = ({ after, key }: Claim): boolean => after === undefined || pathExists(key);
    const claims = (await this.inFamily()).filter(
      (claim) => claim.session !== knowledge.session && isThere(claim),
    );
    const named = claims.slice(0, MAX_AT_WORK);
    if (named.length === 0) return undefined;
    const told: ToldClaim[] = [];
    const entries: NewEntry[] = [];
    for (const claim of named) {
      const file = { key: claim.key, root: claim.root, relative: claim.path };
      told.push(await this.#toldOf(claim, file, undefined));
      const notice: Notice = { kind: 'claimed', path: claim.path, claims: told.slice(-1) };
      const { entry, confirm } = this.#telling(knowledge, notice, file);
      entries.push(entry);
      confirm();
    }
    const cut = claims.length - named.length;
    return { notice: { kind: 'others-at-work', claims: told, cut }, entries };
  }

  /**
   * The deltas on files. If there are very many, returns only those on files that other sessions
   * have changed.
   */
  #concerned(knowledge: Knowledge, deltas: readonly Delta[]): readonly Delta[] {
    const files = byPath(deltas).filter((delta) => !isOfFolder(delta));
    if (files.length <= MAX_QUERIES) return files;
    const changed = new Set(this.#byOthers(knowledge).map(({ key }) => key));
    return changed.size === 0
      ? []
      : files.filter((file) => this.#keysOf(file).some((key) => changed.has(key)));
  }

  /** The file, and the same file in the other worktrees. */
  #keysOf({ key }: Pick<ClaimedFile, 'key'>): readonly string[] {
    return [key, ...this.worktrees.counterparts(key)];
  }

  /** Other sessions' claims on these files, or on all files. Some may have ended. */
  #byOthers({ session }: Knowledge, keys?: () => readonly string[]): readonly Claim[] {
    const asked = { sinceMs: this.#sinceMs(), notBy: session };
    const changes = this.#options.store.changesSince(keys === undefined ? asked : { keys, ...asked });
    return changes.length === 0 ? [] : claimsIn(changes, keys?.());
  }

  #sinceMs(): number {
    // A claim ends exactly after this time, so a change at its first millisecond makes none.
    return this.#options.now() - CLAIM_MS + 1;
  }

  /**
   * The refusal under the policy `claims: refuse`, if another session changed the file before this
   * session did.
   */
  async #busy({ session }: Knowledge, file: ClaimedFile, action: Action): Promise<Refusal | undefined> {
    if (this.#options.policy.claims !== 'refuse') return undefined;
    const { store } = this.#options;
    const changes = store.changesSince({ sinceMs: this.#sinceMs(), keys: () => [file.key] });
    const claims = await inForce(store, claimsIn(changes, [file.key]));
    const own = claims.find((claim) => claim.session === session);
    const claim = claims.find((each) => each.session !== session);
    if (claim === undefined || (own !== undefined && own.sinceMs <= claim.sinceMs)) return undefined;
    const { atMs, turn, client } = claim;
    const writer = {
      session: claim.session,
      atMs,
      ...(client === undefined ? {} : { client }),
      ...(turn === undefined ? {} : { turn }),
    };
    return {
      code: 'BUSY',
      action,
      path: this.#options.workspace.shownAt(file),
      next: 'retry_later',
      detail: { writer },
    };
  }

  async #toldOf(claim: Claim, file: ClaimedFile, live: Fingerprint | undefined): Promise<ToldClaim> {
    const { session, client, turn, atMs, path, key } = claim;
    const lines = key === file.key ? await this.#linesOf(claim, live) : undefined;
    const elsewhere = key === file.key ? undefined : this.worktrees.around(key);
    const isOther = elsewhere !== undefined && elsewhere !== this.worktrees.around(file.key);
    return {
      session,
      ...(client === undefined ? {} : { client }),
      ...(turn === undefined ? {} : { turn }),
      atMs,
      agoMs: this.#options.now() - atMs,
      path,
      ...(lines === undefined ? {} : { lines }),
      ...(isOther ? { worktree: elsewhere } : {}),
    };
  }

  /** The lines that another session's change wrote. Undefined if the file has changed since. */
  async #linesOf(
    { before, after }: Claim,
    live: Fingerprint | undefined,
  ): Promise<readonly LineRange[] | undefined> {
    if (before === undefined || after === undefined || live?.sha256 !== after.sha256) return undefined;
    const { baselines } = this.#options;
    const [old, now] = [await baselines.recall(before), await baselines.recall(after)];
    if (old === undefined || now === undefined) return undefined;
    const { hunks } = diffLines(old, now);
    const ranges = hunks.map(({ afterStart, afterEnd }) => ({
      from: afterStart + 1,
      to: Math.max(afterEnd, afterStart + 1),
    }));
    return ranges.length === 0 ? undefined : ranges;
  }

  #isTold({ session, turn }: Knowledge, key: string): boolean {
    const told = this.#told.get(session);
    const atMs = told?.turn === turn ? told?.files.get(key) : undefined;
    // A session that has no turns is notified again when the claim must have ended.
    return atMs !== undefined && (turn !== undefined || atMs >= this.#sinceMs());
  }

  /** True if another process told this session in this turn: without a resident, each hook call is a process. */
  async #wasToldElsewhere({ session, turn }: Knowledge, key: string): Promise<boolean> {
    const filter = { session, kinds: ['notice'], sinceMs: this.#sinceMs() } as const;
    const entries = await this.#options.store.entries(filter);
    return entries.some((entry) => tellsOfClaims(entry) && entry.key === key && entry.turn === turn);
  }

  #telling(knowledge: Knowledge, notice: Notice, { key, root, relative }: ClaimedFile): ClaimNotice {
    const { session, turn } = knowledge;
    return {
      notice,
      entry: {
        kind: 'notice',
        atMs: this.#options.now(),
        ...knowledge.author,
        root,
        path: relative,
        key,
        text: describeNotice(notice),
        notices: ['claimed'],
      },
      confirm: () => {
        const known = this.#told.get(session);
        const told: Told = known !== undefined && known.turn === turn ? known : { turn, files: new Map() };
        this.#told.set(session, told);
        told.files.set(key, this.#options.now());
      },
    };
  }
}

/**
 * Adds notices about other sessions' claims to the notices of a change. If a notice already shows
 * the diff of the claimed changes, adds the claims to that notice.
 */
export function withClaimNotices(
  notices: readonly Notice[],
  claimNotices: readonly ClaimNotice[],
): readonly Notice[] {
  const told = claimNotices.map(({ notice }) => notice);
  const [only, another] = told;
  if (only?.kind !== 'claimed' || another !== undefined) return [...notices, ...told];
  if (only.claims.some(({ worktree }) => worktree !== undefined)) return [...notices, only];
  const at = notices.findIndex(({ kind }) => kind === 'changed-elsewhere');
  const shown = notices[at];
  if (shown?.kind !== 'changed-elsewhere') return [...notices, only];
  return notices.with(at, { ...shown, claims: only.claims });
}

/**
 * Time for which the list of worktrees is cached. Worktrees come and go while a process runs, and finding them takes a
 * few small reads.
 */
const FRESH_MS = 5000;

/** The file in the agent's own worktree that corresponds to a file in another worktree. */
export interface Counterpart {
  /** Canonical folder of the agent's own worktree. */
  readonly own: string;
  readonly meant: string;
}

/**
 * The worktrees of the repositories that contain the given folders. Sessions in worktrees of one
 * repository are notified about each other's work.
 */
class Worktrees {
  readonly #roots: readonly string[];
  readonly #now: () => number;
  #found: { readonly tops: readonly string[]; readonly atMs: number } | undefined;

  constructor({ roots, now }: { readonly roots: readonly string[]; now(): number }) {
    this.#roots = roots;
    this.#now = now;
  }

  /** The canonical folders of the worktrees. */
  tops(): readonly string[] {
    const atMs = this.#now();
    if (this.#found === undefined || atMs - this.#found.atMs > FRESH_MS)
      this.#found = { tops: [...new Set(this.#roots.flatMap(worktreesAround))], atMs };
    return this.#found.tops;
  }

  /** The worktree that contains a path; the innermost one if they are nested. */
  around(path: string): string | undefined {
    return this.tops()
      .filter((top) => isWithin(path, top))
      .sort((a, b) => b.length - a.length)[0];
  }

  /** Keys of the file with the same relative path in the other worktrees of its repository. */
  counterparts(key: string): readonly string[] {
    const tops = this.tops();
    const own = tops.length < 2 ? undefined : this.around(key);
    if (own === undefined) return [];
    return tops.filter((top) => top !== own).map((top) => top + key.slice(own.length));
  }

  /**
   * For a file in another worktree than `folder`: the file with the same relative path in the
   * worktree that contains `folder`. Undefined if both are in one worktree, or if the worktree of
   * `folder` is the main one.
   */
  counterpart(absolute: string, folder: string): Counterpart | undefined {
    const own = this.around(folder);
    const other = this.around(absolute);
    // Return nothing for an agent in the main checkout: such an agent names a path in another
    // worktree on purpose.
    if (own === undefined || other === undefined || own === other || isMainWorktree(own)) return undefined;
    return { own, meant: own + absolute.slice(other.length) };
  }
}
