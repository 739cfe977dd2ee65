import { randomUUID } from 'node:crypto';
import { type PolicyOverrides, parsePolicyFile, resolvePolicy } from '../config/resolve-policy.ts';
import type { World } from '../gate/world.ts';
import { idleSessions } from '../journal/gc.ts';
import { COMMAND_LINE, type EntryOf } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import { LIMITS } from '../model/limits.ts';
import type { PresetName } from '../model/policy.ts';
import { defined } from '../model/record.ts';
import { isPrintable, type SessionRecord } from '../model/session-record.ts';
import {
  ANY,
  checkShape,
  FLAG,
  mismatchText,
  type ObjectShape,
  objectOf,
  type Shape,
  TEXT,
} from '../model/shape.ts';
import { openSessions, runInSession } from './ambient.ts';
import { GatedSession } from './gated-session.ts';
import { type OpenWorld, openWorld, type WorldOptions } from './open-world.ts';
import type { Kinship, SessionHost } from './session-life.ts';

/** Options for opening a workspace. */
export interface WorkspaceOptions extends Omit<WorldOptions, 'policy' | keyof CommandNames> {
  /** The folder inside a root where the sessions' relative paths start. Default: the first root. */
  readonly cwd?: string | undefined;
  readonly preset?: PresetName | undefined;
  /** Settings that override those of the preset. */
  readonly policy?: PolicyOverrides | undefined;
  /** Text of a policy file (`lookfirst.json`). Its settings override the preset, and `policy` overrides them. */
  readonly policyFile?: string | undefined;
}

const OPTIONS: Readonly<Record<keyof WorkspaceOptions, Shape>> = {
  roots: ANY,
  readOnlyRoots: ANY,
  store: TEXT,
  workspace: TEXT,
  sharedWorkspace: FLAG,
  home: ANY,
  cwd: ANY,
  preset: ANY,
  policy: ANY,
  policyFile: ANY,
  require: ANY,
  now: { type: 'tested', is: (value) => typeof value === 'function', must: 'a function' },
};
/** The options of `openWorkspace`. Values of shape `ANY` are checked by the code that uses them. */
const WORKSPACE_OPTIONS: ObjectShape = objectOf(OPTIONS);
/** The options of `openSession`. */
const SESSION_OPTIONS: ObjectShape = objectOf({ ...OPTIONS, session: ANY, client: ANY });

type CommandNames = Pick<WorldOptions, 'saveAs' | 'readAs'>;

interface Usage extends CommandNames {
  /** True if the workspace closes with its last session. */
  readonly closesWithLast?: boolean;
}

/**
 * Maximum wait for another process that opens or closes the same session. After that, this process
 * goes on anyway.
 */
const RECORD_MS = 2000;

/** A workspace open for any number of sessions in this process. */
export class Sessions implements SessionHost {
  readonly world: World;
  /** Warnings about the store and the policy file, for the user. */
  readonly warnings: readonly string[];
  readonly #close: () => Promise<void>;
  /**
   * Set when closing begins. Later calls return the same promise: closing again could close
   * descriptors that belong to other files by then.
   */
  #ended: Promise<void> | undefined;
  readonly #closesWithLast: boolean;
  #suspended = false;
  readonly #cwd: string | undefined;
  readonly #open = new Map<string, GatedSession>();
  /** The closing of sessions that still need the store. */
  readonly #leaving = new Set<Promise<void>>();
  /** The expiry of old sessions, which runs once, before the first session opens. */
  #expired: Promise<void> | undefined;

  private constructor(
    world: OpenWorld,
    { closesWithLast = false }: Usage,
    { cwd, warnings }: { readonly cwd: string | undefined; readonly warnings: readonly string[] },
  ) {
    this.world = world;
    this.warnings = [...world.store.warnings, ...warnings];
    this.#cwd = cwd;
    this.#close = world.close;
    this.#closesWithLast = closesWithLast;
  }

  static async open(options: WorkspaceOptions, usage: Usage = {}): Promise<Sessions> {
    checkOpening(WORKSPACE_OPTIONS, options);
    const { preset, policy, policyFile, cwd, ...rest } = options;
    const file = policyFile === undefined ? undefined : parsePolicyFile(policyFile);
    const { saveAs, readAs } = usage;
    const world = await openWorld({
      ...rest,
      policy: resolvePolicy({ preset, file, flags: policy }),
      saveAs,
      readAs,
    });
    try {
      checkFolder(world, cwd);
    } catch (error) {
      await world.close();
      throw error;
    }
    return new Sessions(world, usage, { cwd, warnings: file?.warnings ?? [] });
  }

  /**
   * Returns the session with this id: the open one, a stored one that is resumed, or a new one.
   * Without an id, returns a new unnamed session. `client`: the program to which the session
   * belongs.
   */
  async session(id?: string, client?: string): Promise<GatedSession> {
    // Reject options as the second argument. A policy per session would mean two sets of rules for
    // the same files.
    if (client !== undefined && typeof client !== 'string')
      throw new Fault(
        'MISUSE',
        'a session takes no options: give the policy to Sessions.open or openSession',
      );
    return this.open(id, client === undefined ? {} : { client });
  }

  /** Runs a function, and everything it calls and awaits, in the session with this id, opening it if necessary. */
  async run<T>(id: string, fn: () => T): Promise<Awaited<T>> {
    return await runInSession(await this.session(id), fn);
  }

  async open(id: string | undefined, like: Partial<Kinship>): Promise<GatedSession> {
    if (id !== undefined && !isPrintable(id))
      throw new Fault('MISUSE', 'a session id must be a string of printable characters that is not empty');
    const known = id === undefined ? undefined : this.#open.get(id);
    if (known !== undefined && like.parent !== undefined && like.resumes !== true)
      throw new Fault('MISUSE', `a session with the id ${id} is open already`);
    if (known !== undefined) return known;
    if (this.#ended !== undefined) throw new Fault('MISUSE', 'the workspace is closed');
    const session = new GatedSession(this, {
      id: id ?? `s-${randomUUID()}`,
      named: id !== undefined,
      cwd: this.#cwd,
    });
    this.#open.set(session.id, session);
    openSessions.add(session, this.world.store);
    try {
      await this.#alone(session, () => this.#begin(session, like));
    } catch (error) {
      // Remove the session, because the store has no record of it. The next call then begins it
      // again, and closing the workspace writes no record.
      this.#open.delete(session.id);
      openSessions.remove(session);
      throw error;
    }
    return session;
  }

  /**
   * Closes a session once it is idle: a named session is kept, so that it can be resumed, and an
   * unnamed one is forgotten.
   */
  async closed(session: GatedSession, idle: Promise<void> | undefined): Promise<void> {
    this.#open.delete(session.id);
    const leaving = this.#leave(session, idle);
    this.#leaving.add(leaving);
    try {
      await leaving;
    } finally {
      this.#leaving.delete(leaving);
      if (this.#closesWithLast && this.#open.size + this.#leaving.size === 0) await this.#end();
    }
  }

  async #leave(session: GatedSession, idle: Promise<void> | undefined): Promise<void> {
    const { store } = this.world;
    try {
      await idle;
      openSessions.remove(session);
      if (!session.named) await store.record({ dropSession: session.id });
      else
        await this.#alone(session, async () => store.record({ session: await this.#closedRecord(session) }));
    } finally {
      openSessions.remove(session);
    }
  }

  async close(): Promise<void> {
    try {
      for (const session of [...this.#open.values()]) await session.close();
      // Wait for sessions that are closing already: their records need the store and the locks.
      await Promise.allSettled(this.#leaving);
    } finally {
      await this.#end();
    }
  }

  /**
   * Closes the workspace in this process only. Its sessions continue in other processes, so the
   * sessions and their claims stay open.
   */
  suspend(): Promise<void> {
    this.#suspended = true;
    return this.close();
  }

  #end(): Promise<void> {
    this.#ended ??= this.#close();
    return this.#ended;
  }

  /**
   * Runs `work` when no other process of this machine changes the session's record, at the latest
   * after `RECORD_MS`. Without this, two processes that close a session at once would each record
   * that the other has it open.
   */
  async #alone<T>({ id, named }: GatedSession, work: () => Promise<T>): Promise<T> {
    if (!named) return work();
    // Replace slashes in the id: a lock key counts as a path, so `A/B` would lock `A`, too.
    const key = `session:${id.replaceAll('/', ' ')}`;
    const release = await this.world.locks.acquire([key], RECORD_MS);
    try {
      return await work();
    } finally {
      release?.();
    }
  }

  async #begin(session: GatedSession, like: Partial<Kinship>): Promise<void> {
    const { parent, forked, client: given } = like;
    this.#expired ??= expireSessions(this.world).catch((error: unknown) => {
      // Retry the expiry with the next session, because the store may answer by then.
      this.#expired = undefined;
      throw error;
    });
    await this.#expired;
    const kept = session.named ? await this.#resumed(session.id, like) : undefined;
    const now = this.world.now();
    const client = given ?? kept?.client;
    const program = client === undefined ? {} : { client };
    const record: SessionRecord = {
      id: session.id,
      root: this.world.workspace.roots[0] ?? '',
      named: session.named,
      openedMs: kept?.openedMs ?? now,
      lastMs: now,
      ...defined({ parent: parent ?? kept?.parent, forked: forked ?? kept?.forked }),
      ...program,
    };
    const entry = {
      kind: 'session' as const,
      atMs: now,
      session: session.id,
      root: record.root,
      ...beginning(kept),
      ...program,
    };
    const others = await this.#others(kept);
    if (kept !== undefined && others.length === 0) session.modelContext.resumedMs = now;
    const openIn = [...others, this.world.owner];
    await this.world.store.record({ session: { ...record, openIn }, entries: [entry] });
    if (session.named) await this.#joinOthers(session.id);
  }

  /**
   * Adds this process to a session's record again if it is missing there. Another process that
   * opens or closes the session at the same time may have removed it.
   */
  async #joinOthers(id: string): Promise<void> {
    const { owner, store } = this.world;
    const kept = await this.#kept(id);
    if (kept === undefined || kept.openIn?.includes(owner) === true) return;
    const { closedMs: _, ...record } = kept;
    await store.record({ session: { ...record, openIn: [...(kept.openIn ?? []), owner] } });
  }

  /** The other running processes that have a session open. */
  async #others(kept: SessionRecord | undefined): Promise<string[]> {
    const others: string[] = [];
    for (const owner of kept?.openIn ?? [])
      if (owner !== this.world.owner && (await this.world.isAlive(owner))) others.push(owner);
    return others;
  }

  /**
   * The stored record of a session that is opened again. Undefined for a new session, and for a
   * fork or a child, which starts without the sightings recorded earlier under its id.
   */
  async #resumed(id: string, { parent, resumes }: Partial<Kinship>): Promise<SessionRecord | undefined> {
    const kept = await this.#kept(id);
    if (kept === undefined || parent === undefined || resumes === true) return kept;
    // Do not drop a session that an agent uses in another process: without its sightings, the agent
    // could change nothing any more.
    if ((await this.#others(kept)).length > 0)
      throw new Fault('MISUSE', `a session with the id ${id} is open in another process`);
    await this.world.store.record({ dropSession: id });
    return undefined;
  }

  async #kept(id: string): Promise<SessionRecord | undefined> {
    return this.world.store.session(id);
  }

  /** The record to store on close. A session is closed when the last process closes it. */
  async #closedRecord(session: GatedSession): Promise<SessionRecord> {
    const now = this.world.now();
    const kept = await this.#kept(session.id);
    const root = this.world.workspace.roots[0] ?? '';
    const { openIn: _, ...record } = kept ?? { id: session.id, root, named: session.named, openedMs: now };
    const others = await this.#others(kept);
    // This process may have opened the session again, here or in another workspace.
    if (openSessions.has(session.id, this.world.store)) others.push(this.world.owner);
    if (others.length > 0) return { ...record, lastMs: now, openIn: others };
    return { ...record, lastMs: now, ...(this.#suspended ? {} : { closedMs: now }) };
  }
}

/**
 * Throws a Fault if `cwd` is not inside a root. Checks only the text of the path: the folder may be
 * created later.
 */
function checkFolder({ workspace }: World, cwd: unknown): void {
  if (cwd === undefined || (typeof cwd === 'string' && workspace.pathOf(cwd) !== undefined)) return;
  throw new Fault('MISUSE', `cwd must be a folder inside a root, not ${JSON.stringify(cwd)}`);
}

/** Forgets the sessions of this workspace that were idle too long, and journals each. */
async function expireSessions({ store, workspace, now }: World): Promise<void> {
  const atMs = now();
  const { roots } = workspace;
  for (const { id, root } of await idleSessions(store, atMs - LIMITS.sessionIdleMs, { roots })) {
    const about = { atMs, session: id, root };
    const entry = { kind: 'session', ...about, event: 'expired', text: 'expired' } as const;
    await store.record({ dropSession: id, entries: [entry] });
  }
}

export interface SessionOptions extends WorkspaceOptions {
  /** Name of the session. A named session is kept when closed and resumes under this name. */
  readonly session?: string | undefined;
  /** The program that the session belongs to, shown to users and other sessions. */
  readonly client?: string | undefined;
}

/** Opens a workspace with one session. Closing the session also closes the workspace. */
export async function openSession(options: SessionOptions): Promise<GatedSession> {
  checkOpening(SESSION_OPTIONS, options);
  const { session: id, client, ...rest } = options;
  const sessions = await Sessions.open(rest, { closesWithLast: true });
  try {
    return await sessions.session(id, client);
  } catch (error) {
    await sessions.close();
    throw error;
  }
}

/** Throws a Fault MISUSE for unknown options: a misspelt option that is ignored would silently switch a guard off. */
function checkOpening(shape: ObjectShape, options: unknown): void {
  const [mismatch] = checkShape(shape, options);
  if (mismatch === undefined) return;
  throw new Fault('MISUSE', mismatchText(mismatch, { noun: 'option', whole: 'the options for opening' }));
}

/** The start of a session: new, or continuing an earlier record. */
function beginning(kept: SessionRecord | undefined): Pick<EntryOf<'session'>, 'text' | 'event'> {
  if (kept === undefined) return { event: 'opened', text: 'opened' };
  // A session that was not closed continues. That is usual: without a resident process, each hook
  // call is a process of its own.
  if (kept.closedMs === undefined) return { event: 'continued', text: 'continued' };
  return { event: kept.id === COMMAND_LINE ? 'continued' : 'resumed', text: 'resumed' };
}
