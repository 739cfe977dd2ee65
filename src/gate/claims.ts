import { ClaimBoard } from '../journal/claim-board.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Claim, ToldClaim } from '../model/claim.ts';
import type { LineRange } from '../model/coverage.ts';
import type { Effect, NewEntry } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { isBelow, isWithin } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { Notice } from '../model/results.ts';
import type { Action, Outcome, Refusal } from '../model/verdict.ts';
import { isMainWorktree, worktreesAround } from '../process/git.ts';
import { describeNotice } from '../report/describe-notice.ts';
import type { Store } from '../store/store.ts';
import { diffLines } from '../text/diff.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Baselines } from './baselines.ts';

/** A notice names at most this many claims of other sessions. It leaves out the rest. */
const MAX_TOLD = 3;
/**
 * The notice at the beginning of a turn names at most this many claims of other sessions on files,
 * and counts the rest.
 */
const MAX_AT_WORK = 10;

interface ClaimsOptions {
  readonly store: Store;
  readonly baselines: Baselines;
  readonly policy: Pick<Policy, 'claims' | 'claimMs'>;
  readonly workspace: Pick<Workspace, 'roots' | 'shownAt'>;
  now(): number;
}

/** A file on which other sessions may have claims (changes or reservations). */
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

/** Notifies the sessions of one workspace about each other's work, once per file and turn. */
export class Claims {
  readonly board: ClaimBoard;
  /**
   * The worktrees of the repositories that contain the roots. Their sessions are notified about
   * each other's work.
   */
  readonly worktrees: Worktrees;
  readonly #options: ClaimsOptions;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    const { store, workspace, policy, now } = options;
    this.worktrees = new Worktrees({ roots: workspace.roots, now });
    this.board = new ClaimBoard({ store, claimMs: policy.claimMs, now });
  }

  /**
   * True if no other session is working, or if notices about other sessions are switched off. Never
   * waits.
   */
  isQuiet({ session }: Ledger): boolean {
    return this.#options.policy.claims === 'off' || !this.board.hasOthers(session);
  }

  /**
   * Other sessions' claims (their changes or reservations) on a file, if this session was not
   * notified of them in this turn. Never waits.
   */
  untold(ledger: Ledger, file: ClaimedFile): readonly Claim[] {
    if (this.isQuiet(ledger)) return [];
    const { session, turn } = ledger;
    const claims = this.#onFile(session, file);
    return claims.length === 0 || this.board.isTold(session, file.key, turn) ? [] : claims;
  }

  /**
   * The notice about other sessions' work on a file, or undefined if those sessions are closed.
   * `live`: the file's present fingerprint, needed for line numbers.
   */
  async claimNotice(
    ledger: Ledger,
    { file, claims, live }: { file: ClaimedFile; claims: readonly Claim[]; live?: Fingerprint | undefined },
  ): Promise<ClaimNotice | undefined> {
    const open = await this.#open(claims);
    const [first] = open;
    if (first === undefined) return undefined;
    const told: ToldClaim[] = [];
    for (const claim of open.slice(0, MAX_TOLD)) told.push(await this.#told(claim, file, live));
    const notice: Notice = { kind: 'claimed', path: this.#options.workspace.shownAt(file), claims: told };
    return this.#tellingOf(ledger, { notice, file, of: first.session });
  }

  /**
   * For a session to which another program showed a file: notices about other sessions' work on
   * that file. They are recorded as delivered.
   */
  async onRead(
    ledger: Ledger,
    resolve: () => Outcome<{ readonly path: ClaimedFile }>,
  ): Promise<readonly Notice[]> {
    if (this.isQuiet(ledger)) return [];
    const resolved = resolve();
    const claims = resolved.ok ? this.untold(ledger, resolved.path) : [];
    if (!resolved.ok || claims.length === 0) return [];
    const file = resolved.path;
    const live = (await ledger.recall(file.key))?.fingerprint;
    const claimNotice = await this.claimNotice(ledger, { file, claims, live });
    if (claimNotice === undefined) return [];
    claimNotice.confirm();
    await this.#options.store.note({ sightings: [], entries: [claimNotice.entry] });
    return [claimNotice.notice];
  }

  /**
   * Notices about other sessions' work on the files that a step changes, or a refusal if the policy
   * demands one.
   */
  async onChange(
    ledger: Ledger,
    effects: readonly Effect[],
    { root, action }: { readonly root: string; readonly action: Action },
  ): Promise<{ readonly claimNotices: readonly ClaimNotice[] } | { readonly refusal: Refusal }> {
    const claimNotices: ClaimNotice[] = [];
    if (this.isQuiet(ledger)) return { claimNotices };
    for (const { key, relative, before, after } of effects) {
      if ([before.kind, after.kind].includes('directory')) continue;
      const file = { key, relative, root };
      const busy = await this.#busy(ledger, file, action);
      if (busy !== undefined) return { refusal: busy };
      const claims = this.untold(ledger, file);
      const live = before.kind === 'file' ? before.fingerprint : undefined;
      const claimNotice =
        claims.length === 0 ? undefined : await this.claimNotice(ledger, { file, claims, live });
      if (claimNotice !== undefined) claimNotices.push(claimNotice);
    }
    return { claimNotices };
  }

  /**
   * Every file that a session works on, in this workspace and the other worktrees of its
   * repository, newest first, with the clients' names.
   */
  async inFamily(): Promise<readonly Claim[]> {
    return this.#open(this.board.all().filter((claim) => this.#isInFamily(claim)));
  }

  /**
   * The notice at the beginning of a turn, which lists the other sessions' claims on files. A file
   * that it names causes no further notice in this turn. Undefined if there are no such claims.
   */
  async atWork(
    ledger: Ledger,
  ): Promise<{ readonly notice: Notice; readonly entries: readonly NewEntry[] } | undefined> {
    const { session } = ledger;
    if (this.isQuiet(ledger)) return undefined;
    const claims = (await this.inFamily()).filter((claim) => claim.session !== session);
    const named = claims.slice(0, MAX_AT_WORK);
    if (named.length === 0) return undefined;
    const told: ToldClaim[] = [];
    const entries: NewEntry[] = [];
    for (const claim of named) {
      const file = { key: claim.key ?? '', root: claim.root, relative: claim.path };
      told.push(await this.#told(claim, file, undefined));
      if (claim.key === undefined) continue;
      const notice: Notice = { kind: 'claimed', path: claim.path, claims: told.slice(-1) };
      const { entry, confirm } = this.#tellingOf(ledger, { notice, file, of: claim.session });
      entries.push(entry);
      confirm();
    }
    const cut = claims.length - named.length;
    return { notice: { kind: 'others-at-work', claims: told, cut }, entries };
  }

  #onFile(session: string, file: ClaimedFile): readonly Claim[] {
    const held = this.board.heldByOthers(session).filter((claim) => isHeld(claim, file));
    const twins = this.worktrees.twins(file.key).flatMap((key) => this.board.changedByOthers(session, key));
    return [...this.board.changedByOthers(session, file.key), ...held, ...twins];
  }

  #isInFamily({ root, key }: Claim): boolean {
    const folders = [...this.#options.workspace.roots, ...this.worktrees.tops()];
    const place = key ?? root;
    return folders.some((folder) => isWithin(place, folder) || (key === undefined && isWithin(folder, root)));
  }

  /**
   * The refusal under the policy `claims: refuse`, if another session changed or reserved the file
   * before this session did.
   */
  async #busy({ session }: Ledger, file: ClaimedFile, action: Action): Promise<Refusal | undefined> {
    if (this.#options.policy.claims !== 'refuse') return undefined;
    const own = this.board.own(session, file.key);
    const held = this.board.heldByOthers(session).filter((claim) => isHeld(claim, file));
    const [claim] = await this.#open([...this.board.changedByOthers(session, file.key), ...held]);
    if (claim === undefined || (own !== undefined && own.sinceMs <= claim.sinceMs)) return undefined;
    const { atMs, turn, reason, client } = claim;
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
      detail: { writer, ...(reason === undefined ? {} : { reason }) },
    };
  }

  async #told(claim: Claim, file: ClaimedFile, live: Fingerprint | undefined): Promise<ToldClaim> {
    const { session, client, turn, atMs, by, reason, path, key } = claim;
    const lines = key === file.key ? await this.#linesOf(claim, live) : undefined;
    const elsewhere = key === undefined || key === file.key ? undefined : this.worktrees.around(key);
    const isTwin = elsewhere !== undefined && elsewhere !== this.worktrees.around(file.key);
    return {
      session,
      ...(client === undefined ? {} : { client }),
      ...(turn === undefined ? {} : { turn }),
      atMs,
      agoMs: this.#options.now() - atMs,
      path,
      by,
      ...(reason === undefined ? {} : { reason }),
      ...(lines === undefined ? {} : { lines }),
      ...(isTwin ? { worktree: elsewhere } : {}),
    };
  }

  /** The given claims on files, without those of closed sessions. Adds the clients' names. */
  async #open(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const found: Claim[] = [];
    for (const claim of claims) {
      const record = await this.#options.store.session(claim.session);
      if (record === undefined || record.closedMs !== undefined) this.board.drop(claim.session);
      else found.push(record.client === undefined ? claim : { ...claim, client: record.client });
    }
    return found;
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

  #tellingOf(
    ledger: Ledger,
    { notice, file, of }: { notice: Notice; file: ClaimedFile; of: string },
  ): ClaimNotice {
    const { session, turn } = ledger;
    return {
      notice,
      entry: {
        kind: 'notice',
        atMs: this.#options.now(),
        ...ledger.author,
        root: file.root,
        path: file.relative,
        key: file.key,
        text: describeNotice(notice),
        claim: { of },
      },
      confirm: () => this.board.tell(session, file.key, turn),
    };
  }
}

function isHeld({ key, glob, root }: Claim, file: ClaimedFile): boolean {
  if (key !== undefined) return isWithin(file.key, key);
  const relative = root === file.root ? file.relative : relativeTo(root, file);
  return glob !== undefined && relative !== undefined && matchingGlob([glob], relative) !== undefined;
}

/**
 * The path of a file relative to the folder in which a glob was claimed. That folder may be inside
 * the session's root, or may contain the root. Undefined if the file is outside the folder.
 */
function relativeTo(folder: string, { root, relative }: ClaimedFile): string | undefined {
  const path = `${root === '/' ? '' : root}/${relative}`;
  return isBelow(path, folder) ? path.slice(folder === '/' ? 1 : folder.length + 1) : undefined;
}

/**
 * Adds notices about other sessions' claims (changes or reservations) to the notices of a change.
 * If a notice already shows the diff of the claimed changes, adds the claims to that notice.
 */
export function withClaimNotices(
  notices: readonly Notice[],
  claimNotices: readonly ClaimNotice[],
): readonly Notice[] {
  const told = claimNotices.map(({ notice }) => notice);
  const [only, another] = told;
  if (only?.kind !== 'claimed' || another !== undefined) return [...notices, ...told];
  const isShown = ({ by, worktree }: ToldClaim): boolean => by === 'change' && worktree === undefined;
  if (!only.claims.every(isShown)) return [...notices, only];
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
export class Worktrees {
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
  twins(key: string): readonly string[] {
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
