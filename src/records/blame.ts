import { randomUUID } from 'node:crypto';
import { dirname, parse, relative, resolve } from 'node:path';
import { readSnapshot } from '../disk/read.ts';
import type { State } from '../model/delta.ts';
import { byPath, lastAt } from '../model/delta.ts';
import type { ChangeEntry } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Policy } from '../model/policy.ts';
import { defined } from '../model/record.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import { headRevision, repositoryAround } from '../process/git.ts';
import { unreadableRefusal } from '../session/reading.ts';
import { walkEntries } from '../store/store.ts';
import { looksBinary } from '../text/decode.ts';
import { diffLines } from '../text/diff.ts';
import { splitLines, withoutEnding } from '../text/lines.ts';
import { isSecretPath, masked } from '../text/secrets.ts';
import { Workspace } from '../workspace/workspace.ts';
import { findBytes } from './path-diffs.ts';
import type { Records } from './records.ts';

const MAX_BYTES = 8 << 20;
/** The maximum number of renames through which a file's history is followed. */
const MAX_MOVES = 20;

/**
 * The session that wrote a line. Without a session, another program wrote the line, or the writer
 * is not known, for example because the line is older than the first recorded change.
 */
export interface LineOrigin {
  readonly session?: string;
  /** The program that the session belongs to. */
  readonly client?: string;
  readonly turn?: string;
  readonly change?: string;
  readonly atMs?: number;
  /** Another program wrote the line, between `sinceMs` and `atMs` as far as they are known. */
  readonly outside?: true;
  readonly sinceMs?: number;
}

export interface BlamedLine extends LineOrigin {
  /** The line number, counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** A file as it is now, each line with its origin according to the journal. */
export interface Blame {
  /** The canonical path. */
  readonly absolute: string;
  readonly lines: readonly BlamedLine[];
}

interface BlameOptions {
  readonly cwd: string;
  readonly path: string;
  readonly secrets: Policy['secrets'];
}

/**
 * Finds the writer of each line of a file. Follows the file's moves. Also marks lines that another
 * program changed between two recorded changes. Masks secrets.
 */
export async function blame(records: Records, { cwd, path, secrets }: BlameOptions): Promise<Outcome<Blame>> {
  const found = await liveFile(cwd, path);
  if (!found.ok) return found;
  const { absolute, key, live, fingerprint } = found;
  const bytesOf = async (wanted: Fingerprint): Promise<Uint8Array | undefined> => {
    if (wanted.sha256 === fingerprint.sha256) return live;
    const place = { root: parse(absolute).root, key, maxBytes: MAX_BYTES };
    const found = await findBytes(records.images, wanted, place);
    return 'bytes' in found ? found.bytes : undefined;
  };
  const course = new Course();
  for (const { entry, before, after } of await versionsOf(records, key)) {
    const isKnown = before.kind !== 'file' || (await course.foundAs(before.fingerprint, bytesOf, entry.atMs));
    // If the bytes before a change are not known, the lines that it wrote are not known either.
    const isUndo = entry.undoes !== undefined;
    await course.becomes(after, bytesOf, { ...(isKnown ? originOf(entry) : {}), isUndo });
  }
  await course.foundAs(fingerprint, bytesOf, undefined);
  const clients = await records.clientsOf(course.origins.flatMap((origin) => origin.session ?? []));
  const text = Buffer.from(live).toString('utf8');
  const shown = secrets === 'show' ? text : masked(text, { secretFile: isSecretPath(key) });
  const lines = splitLines(shown).map((line, index): BlamedLine => {
    const origin = course.origins[index] ?? {};
    const client = origin.session === undefined ? undefined : clients.get(origin.session);
    return {
      line: index + 1,
      text: withoutEnding(line),
      ...origin,
      ...(client === undefined ? {} : { client }),
    };
  });
  return { ok: true, absolute, lines };
}

interface LiveFile {
  readonly absolute: string;
  readonly key: string;
  readonly live: Uint8Array;
  readonly fingerprint: Fingerprint;
}

async function liveFile(cwd: string, path: string): Promise<Outcome<LiveFile>> {
  const full = resolve(cwd, path);
  const everything = Workspace.open([parse(full).root]);
  try {
    const outcome = everything.locate(full, 'read');
    if (!outcome.ok) return outcome;
    const { place, ...located } = outcome.located;
    try {
      const about = { action: 'read', path } as const;
      if (!located.exists) return refused({ ...about, code: 'NOT_FOUND', next: 'other_path' });
      const snapshot = await readSnapshot(place, { clock: undefined, maxBytes: MAX_BYTES });
      if ('problem' in snapshot) return refused(unreadableRefusal(path, snapshot));
      if (looksBinary(snapshot.bytes)) return refused({ ...about, code: 'NOT_TEXT', next: 'none' });
      const { absolute, key } = place.path;
      return { ok: true, absolute, key, live: snapshot.bytes, fingerprint: snapshot.fingerprint };
    } finally {
      place.dir.close();
    }
  } finally {
    everything.close();
  }
}

interface Version {
  readonly entry: ChangeEntry;
  readonly before: State;
  readonly after: State;
}

/** The recorded changes of a file, oldest first, also under its earlier names. */
async function versionsOf({ store }: Records, key: string): Promise<readonly Version[]> {
  const versions: Version[] = [];
  let name: string | undefined = key;
  let before = Number.POSITIVE_INFINITY;
  for (let moves = 0; name !== undefined && moves <= MAX_MOVES; moves += 1) {
    const current: string = name;
    name = undefined;
    const bound = before === Number.POSITIVE_INFINITY ? {} : { beforeSeq: before };
    for await (const entry of walkEntries(store, { key: current, kinds: ['change'], ...bound })) {
      const delta = lastAt(entry.deltas, current);
      if (delta === undefined) continue;
      const { after, movedFrom } = delta;
      const [source = delta] = byPath([delta]);
      versions.unshift({ entry, before: source.before, after });
      if (movedFrom === undefined) continue;
      name = movedFrom.key;
      before = entry.seq;
      break;
    }
  }
  return versions;
}

type BytesOf = (fingerprint: Fingerprint) => Promise<Uint8Array | undefined>;

/** The lines of a file while its history is replayed, each with its origin. */
class Course {
  origins: readonly LineOrigin[] = [];
  #bytes: Uint8Array | undefined;
  #sha256: string | undefined;
  /** When the last recorded change was made. */
  #changedMs: number | undefined;
  readonly #known = new Map<string, readonly LineOrigin[]>();
  /** The origins of the lines that changes removed, by their bytes. */
  readonly #removed = new Map<string, LineOrigin>();

  /**
   * Sets the bytes that the file has at this point of its history. If they differ from the last
   * known bytes, another program has changed the file. False if the bytes are not stored.
   */
  async foundAs(fingerprint: Fingerprint, bytesOf: BytesOf, atMs: number | undefined): Promise<boolean> {
    if (fingerprint.sha256 === this.#sha256 && this.#bytes !== undefined) return true;
    const bytes = await bytesOf(fingerprint);
    if (bytes === undefined) return false;
    const isFirst = this.#changedMs === undefined;
    const outside: LineOrigin = {
      outside: true,
      ...(this.#changedMs === undefined ? {} : { sinceMs: this.#changedMs }),
      ...(atMs === undefined ? {} : { atMs }),
    };
    this.#take(bytes, fingerprint.sha256, isFirst ? {} : outside);
    return true;
  }

  /**
   * Records a session's change. If the file gets earlier bytes back, or an undo brings a line back,
   * they get their earlier origins back.
   */
  async becomes(
    side: State,
    bytesOf: BytesOf,
    { isUndo, ...origin }: LineOrigin & { readonly isUndo: boolean },
  ): Promise<void> {
    this.#changedMs = origin.atMs ?? this.#changedMs;
    if (side.kind !== 'file') {
      this.origins = [];
      this.#bytes = undefined;
      this.#sha256 = undefined;
      return;
    }
    const { sha256 } = side.fingerprint;
    const bytes = await bytesOf(side.fingerprint);
    // If the bytes after this change are not stored, its lines cannot be known. They later count as
    // another program's change.
    if (bytes === undefined) return;
    const earlier = this.#known.get(sha256);
    if (earlier === undefined) this.#take(bytes, sha256, origin, isUndo ? this.#removed : undefined);
    else [this.#bytes, this.#sha256, this.origins] = [bytes, sha256, earlier];
  }

  /** `restored`: the origins of lines that are brought back. */
  #take(
    bytes: Uint8Array,
    sha256: string,
    origin: LineOrigin,
    restored?: ReadonlyMap<string, LineOrigin>,
  ): void {
    const next: LineOrigin[] = [];
    const earlier = this.#bytes ?? new Uint8Array();
    const { hunks } = diffLines(earlier, bytes);
    const [before, after] = [linesIn(earlier), linesIn(bytes)];
    let at = 0;
    for (const { beforeStart, beforeEnd, afterStart, afterEnd } of hunks) {
      for (const kept of this.origins.slice(at, beforeStart)) next.push(kept);
      for (const line of after.slice(afterStart, afterEnd)) next.push(restored?.get(line) ?? origin);
      for (let line = beforeStart; line < beforeEnd; line += 1)
        this.#removed.set(before[line] ?? '', this.origins[line] ?? {});
      at = beforeEnd;
    }
    for (const kept of this.origins.slice(at)) next.push(kept);
    [this.#bytes, this.#sha256, this.origins] = [bytes, sha256, next];
    this.#known.set(sha256, next);
  }
}

/** The lines of a file. Every byte is one character, so that equal lines have equal bytes. */
function linesIn(bytes: Uint8Array): readonly string[] {
  return splitLines(Buffer.from(bytes).toString('latin1'));
}

function originOf({ session, turn, change, atMs }: ChangeEntry): LineOrigin {
  return {
    session,
    atMs,
    ...defined({ turn, change }),
  };
}

/** The version of the Agent Trace format that {@link agentTrace} writes. */
const FORMAT_VERSION = '0.1.0';

/** A record in the Agent Trace format (agent-trace.dev): which conversation wrote which lines of which file. */
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

/**
 * Builds the Agent Trace record of some files. Paths are relative to the repository, or to `cwd` if
 * there is no repository.
 */
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

/**
 * The lines of each session. Lines of other programs form one group without a session. Lines whose
 * writer is not known are left out.
 */
function conversationsIn(lines: readonly BlamedLine[]): readonly TracedConversation[] {
  const bySession = new Map<string | undefined, number[]>();
  for (const { line, session, outside } of lines) {
    if (session === undefined && outside !== true) continue;
    const own = bySession.get(session);
    if (own === undefined) bySession.set(session, [line]);
    else own.push(line);
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
