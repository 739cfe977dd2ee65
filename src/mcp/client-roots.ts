import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { CLIENT_CAPABILITIES_KEY, metaOf, type Parts, requestMessage } from './protocol.ts';

/** Prefix of the ids of our own requests. */
const OWN_ID = 'lookfirst-';
/** The key of our question in an `input_required` result. */
const ROOTS_INPUT = 'roots';
/** A client that does not answer `roots/list` within this time counts as having no roots. */
const ANSWER_MS = 5000;

interface ClientRootsOptions {
  /** The roots to use if the client names none. */
  readonly fallback: readonly string[];
  /** Called when the client names different roots than before. */
  readonly changed: () => void;
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
}

/**
 * The folders that a client wants served, for a server that was started without roots. A legacy
 * client gets a request for them. A modern client (revision 2026-07-28) gets the question in the
 * result of its first call.
 */
export class ClientRoots {
  readonly #options: ClientRootsOptions;
  #send: (parts: Parts) => boolean = () => false;
  #capable = false;
  #requests = 0;
  #roots: readonly string[] | undefined;
  #waiting: ((roots: readonly string[]) => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #pending: Promise<void> | undefined;
  #answered: () => void = () => {};

  constructor(options: ClientRootsOptions) {
    this.#options = options;
  }

  /** Sends requests to the client from now on. */
  connect(send: (parts: Parts) => boolean): void {
    this.#send = send;
  }

  /** Stores whether a legacy client declared that it has roots. */
  initialize(capabilities: unknown): void {
    this.#capable = hasRoots(capabilities);
  }

  notified(method: string): void {
    if (method === 'notifications/initialized' || method === 'notifications/roots/list_changed') this.#ask();
  }

  /** Asks a legacy client for its roots on its first tool call, if it never sent `initialized`. */
  legacyCall(): undefined {
    if (this.#roots === undefined && this.#requests === 0) this.#ask();
  }

  /** Handles the answer to a request of ours; only the answer to the newest request counts. */
  answered(id: unknown, result: unknown): void {
    if (id !== `${OWN_ID}${this.#requests}`) return;
    if (result === undefined) this.none();
    else this.#take(result);
  }

  /**
   * Accepts the roots that a modern call carries. If the client has roots but has not named them
   * yet, returns the question that it must answer before the call can run.
   */
  modernCall(params: JsonRecord): JsonRecord | undefined {
    if (this.#roots !== undefined) return undefined;
    const { inputResponses } = params;
    if (isRecord(inputResponses) && ROOTS_INPUT in inputResponses) this.#take(inputResponses[ROOTS_INPUT]);
    else if (hasRoots(metaOf(params)[CLIENT_CAPABILITIES_KEY]))
      return { [ROOTS_INPUT]: { method: 'roots/list' } };
    else this.none();
    return undefined;
  }

  /** Resolves to the roots when they are known. */
  async known(): Promise<readonly string[]> {
    return this.#roots ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Resolves when the client has answered the open request for its roots, or after `ANSWER_MS`.
   * Undefined if no request is open.
   */
  get pending(): Promise<void> | undefined {
    return this.#pending;
  }

  /**
   * Stops waiting for the client's roots. Uses the roots that the client named earlier, or else
   * those in `fallback`.
   */
  none(): void {
    this.#settle(this.#roots ?? this.#options.fallback);
  }

  #ask(): void {
    if (!this.#capable) {
      this.none();
      return;
    }
    this.#requests += 1;
    this.#send(requestMessage(`${OWN_ID}${this.#requests}`, 'roots/list'));
    this.#pending ??= new Promise((resolve) => {
      this.#answered = resolve;
    });
    this.#timer ??= setTimeout(() => {
      const served = this.#roots === undefined ? 'the current folder' : 'the same folders as before';
      this.#options.log(`the client did not say which folders to serve; serving ${served}`);
      this.none();
    }, ANSWER_MS);
  }

  /**
   * Accepts the result of `roots/list`. An empty list counts as no roots. If none of the listed
   * roots is a local folder, the earlier roots stay.
   */
  #take(result: unknown): void {
    const listed = isRecord(result) && Array.isArray(result['roots']) ? result['roots'] : [];
    const folders = listed.filter(isRecord).flatMap((root) => this.#folderOf(root));
    if (listed.length > 0 && folders.length === 0) this.none();
    else this.#settle(folders.length === 0 ? this.#options.fallback : folders);
  }

  #folderOf({ uri }: JsonRecord): string[] {
    try {
      const folder = fileURLToPath(String(uri));
      // `resolve` removes a final slash, so that a root with a slash and one without it count as
      // the same root.
      if (!folder.includes('\0')) return [resolve(folder)];
    } catch {
      // The line below reports the invalid URL.
    }
    this.#options.log(`ignoring a root of the client that is not a local folder: ${JSON.stringify(uri)}`);
    return [];
  }

  #settle(roots: readonly string[]): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#roots;
    this.#roots = roots;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(roots);
    if (before !== undefined && before.join('\n') !== roots.join('\n')) this.#options.changed();
    this.#pending = undefined;
    this.#answered();
  }
}

function hasRoots(capabilities: unknown): boolean {
  return isRecord(capabilities) && isRecord(capabilities['roots']);
}
