import { randomUUID } from 'node:crypto';
import { dirname, join, relative } from 'node:path';
import { walkEntries } from '../journal/journal.ts';
import type { ChainReport, VerifyOptions } from '../journal/verify.ts';
import type { Entry } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';
import { headRevision, repositoryAround } from '../process/git.ts';
import { defaultHome } from '../session/open-world.ts';
import type { EntryFilter } from '../store/store.ts';
import { type Blame, type BlamedLine, blame } from './blame.ts';
import { Records } from './records.ts';

export interface JournalOptions {
  /** The state folder; default `LOOKFIRST_HOME`, else the platform's place for state. */
  readonly home?: string | undefined;
  /** URL of the store; default: the database in the state folder. */
  readonly store?: string | undefined;
}

export interface SightingFilter {
  readonly session?: string | undefined;
  /** Canonical path of a file. */
  readonly key?: string | undefined;
}

/** A session's sighting of one file. */
export interface SessionSighting extends Sighting {
  readonly session: string;
}

/** The records of Lookfirst for programs: read-only. */
export interface Journal {
  /** Entries that match, newest first unless the filter asks for another order. */
  entries(filter?: EntryFilter): AsyncIterable<Entry>;
  sightings(filter?: SightingFilter): AsyncIterable<SessionSighting>;
  /** The bytes with this hash as an entry names them, if they are kept; undefined if they are not. */
  image(sha256: string): Promise<Uint8Array | undefined>;
  /** The writer of each line of a file, as far as the journal has it. `path`: absolute, or relative to the current folder. */
  blame(path: string): Promise<Outcome<Blame>>;
  /** Checks that no entry was removed or altered. */
  verify(options?: VerifyOptions): Promise<ChainReport>;
  close(): Promise<void>;
}

/** Opens the journal for reading. It creates nothing: without a state folder the journal is empty. */
export async function openJournal(options: JournalOptions = {}): Promise<Journal> {
  const home = options.home ?? defaultHome();
  const store = options.store ?? `sqlite:${join(home, 'lookfirst.db')}`;
  if (store === 'memory:')
    throw new Fault('MISUSE', 'a store in memory cannot be opened a second time: name another store');
  const records = await Records.open({ home, store });
  return {
    entries: (filter = {}) => walkEntries(records.store, filter),
    sightings: (filter = {}) => sightingsOf(records, filter),
    image: (sha256) => imageOf(records, sha256),
    blame: (path) => blame(records, { cwd: process.cwd(), path }),
    verify: (verifying) => records.verify(verifying),
    close: () => records.close(),
  };
}

async function* sightingsOf(
  { store }: Records,
  { session, key }: SightingFilter,
): AsyncGenerator<SessionSighting> {
  const sessions = session === undefined ? (await store.sessions()).map(({ id }) => id) : [session];
  for (const id of sessions)
    for (const sighting of await store.sightings(id))
      if (key === undefined || sighting.key === key) yield { session: id, ...sighting };
}

async function imageOf(records: Records, sha256: string): Promise<Uint8Array | undefined> {
  if (!/^[0-9a-f]{64}$/.test(sha256) || !(await records.images.has(sha256))) return undefined;
  const fingerprint = await fingerprintFor(records, sha256);
  return fingerprint === undefined ? undefined : records.images.read(fingerprint);
}

/** The size belongs to the fingerprint: another program may have appended to a file after it was kept. */
async function fingerprintFor(records: Records, sha256: string): Promise<Fingerprint | undefined> {
  for await (const { effects = [] } of walkEntries(records.store, { kinds: ['change'] }))
    for (const side of effects.flatMap(({ before, after }) => [before, after]))
      if (side.kind === 'file' && side.fingerprint.sha256 === sha256) return side.fingerprint;
  for await (const { fingerprint } of sightingsOf(records, {}))
    if (fingerprint?.sha256 === sha256) return fingerprint;
  return undefined;
}

/** The version of the Agent Trace format that {@link agentTrace} writes. */
const FORMAT_VERSION = '0.1.0';

/** A record in the Agent Trace format (agent-trace.dev): which lines of files which conversation wrote. */
export interface AgentTrace {
  readonly version: string;
  readonly id: string;
  readonly timestamp: string;
  readonly vcs?: { readonly type: 'git'; readonly revision: string };
  readonly tool: { readonly name: string; readonly version: string };
  readonly files: readonly TracedFile[];
}

interface TracedFile {
  readonly path: string;
  readonly conversations: readonly TracedConversation[];
}

interface TracedConversation {
  readonly contributor: { readonly type: 'ai' | 'unknown' };
  readonly ranges: readonly { readonly start_line: number; readonly end_line: number }[];
  readonly related?: readonly { readonly type: string; readonly url: string }[];
}

/** Builds the attribution of files. Paths are relative to the repository, or to `cwd` outside of one. */
export async function agentTrace(
  files: readonly Blame[],
  { cwd, version, nowMs }: { readonly cwd: string; readonly version: string; readonly nowMs: number },
): Promise<AgentTrace> {
  const [first] = files;
  const top = repositoryAround(first === undefined ? cwd : dirname(first.absolute));
  const revision = top === undefined ? undefined : await headRevision(top);
  return {
    version: FORMAT_VERSION,
    id: randomUUID(),
    timestamp: new Date(nowMs).toISOString(),
    ...(revision === undefined ? {} : { vcs: { type: 'git', revision } as const }),
    tool: { name: 'lookfirst', version },
    files: files.map(({ absolute, lines }) => ({
      path: relative(top ?? cwd, absolute),
      conversations: conversationsIn(lines),
    })),
  };
}

/** Lines that no recorded change wrote are left out, unless another program wrote them since. */
function conversationsIn(lines: readonly BlamedLine[]): readonly TracedConversation[] {
  const bySession = new Map<string | undefined, number[]>();
  for (const { line, session, outside } of lines) {
    if (session === undefined && outside !== true) continue;
    bySession.set(session, [...(bySession.get(session) ?? []), line]);
  }
  return [...bySession].map(([session, numbers]): TracedConversation => {
    const ranges = rangesOf(numbers);
    if (session === undefined) return { contributor: { type: 'unknown' }, ranges };
    const url = `urn:lookfirst:session:${encodeURIComponent(session)}`;
    return { contributor: { type: 'ai' }, ranges, related: [{ type: 'session', url }] };
  });
}

function rangesOf(numbers: readonly number[]): TracedConversation['ranges'] {
  const ranges: { start_line: number; end_line: number }[] = [];
  for (const line of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last.end_line === line - 1) last.end_line = line;
    else ranges.push({ start_line: line, end_line: line });
  }
  return ranges;
}
