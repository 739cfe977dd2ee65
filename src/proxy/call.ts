import type { Arguments } from '../dialect/calls/rule-scope.ts';
import type { CallTimes, ForeignPlace, ForeignSession } from '../model/foreign-session.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { idIn, idKey, paramsOf } from '../wire/rpc.ts';
import type { Answerable } from './answers.ts';
import { type CallMeaning, unproven } from './understand.ts';

/** One `tools/call` on its way through the gate. */
export interface ProxyCall extends Answerable {
  readonly key: string;
  /** The message to forward. */
  line: Buffer;
  readonly tool: string;
  readonly args: Arguments;
  meaning: CallMeaning;
  /** The revision (a token for a file's bytes) in the call's arguments, if the option `receipts` is on. */
  readonly revision: string | undefined;
  /**
   * The value of `UpstreamPaths.version` when the call was read. If it has increased since, the
   * call's relative paths may have changed their meaning. Undefined if the call has no such paths.
   */
  readonly pathsVersion: number | undefined;
  /** The number of typographic quotes that were straightened in the call's texts. */
  readonly straightened: number;
  /** The cached locations of the call's paths. */
  readonly located: Map<string, ForeignPlace | Promise<ForeignPlace>>;
  /** `waiting`: not forwarded yet; `sent`: forwarded to the upstream; `over`: finished. */
  stage: 'waiting' | 'sent' | 'over';
  readonly times: CallTimes;
  session: ForeignSession | undefined;
  /** Keys that identify the call's files, in the order in which the call names them. */
  keys: readonly string[];
  /** Releases the call's locks on its files, so that the next call can use these files. */
  release: () => void;
  /** The id of the call's change, which is announced in the store before the call is forwarded. */
  change: string | undefined;
  notices: readonly Notice[];
  /** SHA-256 of files before the call, by path; only of reads whose text may prove nothing. */
  before: ReadonlyMap<string, string | undefined>;
  /** The server's response, if secrets in it were masked for the client. */
  original: JsonRecord | undefined;
  /**
   * The refusals of files that were left out of a call that reads several files. The keys are the
   * paths as the caller wrote them.
   */
  leftOut: ReadonlyMap<string, Refusal>;
}

const NONE: ReadonlyMap<string, Refusal> = new Map();

/** Creates a call. Lists every field explicitly, because this runs for each call and must be fast. */
export function newCall(
  given: Pick<
    ProxyCall,
    | 'id'
    | 'key'
    | 'tool'
    | 'args'
    | 'line'
    | 'message'
    | 'meaning'
    | 'revision'
    | 'pathsVersion'
    | 'straightened'
  >,
): ProxyCall {
  return {
    id: given.id,
    key: given.key,
    tool: given.tool,
    args: given.args,
    line: given.line,
    message: given.message,
    meaning: given.meaning,
    revision: given.revision,
    pathsVersion: given.pathsVersion,
    straightened: given.straightened,
    located: new Map(),
    stage: 'waiting',
    times: { arrivedAt: performance.now(), answeredAt: Number.POSITIVE_INFINITY },
    session: undefined,
    keys: [],
    release: () => {},
    change: undefined,
    notices: [],
    before: new Map(),
    original: undefined,
    leftOut: NONE,
  };
}

/**
 * The id of a request: its JSON text for the answer (`id`), and the key to find the call (`key`).
 */
export function idOfRequest(line: Buffer, message: JsonRecord): { id: string; key: string } | undefined {
  const id = message['id'];
  const key = idKey(id);
  if (key === undefined) return undefined;
  // A number that JavaScript cannot represent exactly is returned as it was written.
  const exact = typeof id === 'string' || Number.isSafeInteger(id);
  return { id: exact ? key : (idIn(line) ?? key), key };
}

/** Hashes the files of a call's unproven reads; see `ProxyCall.before`. */
export async function hashesBefore({ meaning, session }: ProxyCall): Promise<ProxyCall['before']> {
  const hashes = new Map<string, string | undefined>();
  for (const path of unproven(meaning)) hashes.set(path, await session?.hashOf(path));
  return hashes;
}

/** The name and arguments of the called tool. */
export function toolOf(message: JsonRecord): { tool: string; args: Arguments } {
  const params = paramsOf(message);
  const tool = typeof params['name'] === 'string' ? params['name'] : '';
  return { tool, args: isRecord(params['arguments']) ? params['arguments'] : {} };
}
