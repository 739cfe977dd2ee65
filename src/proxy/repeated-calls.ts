import type { Call } from './call.ts';
import { idKeyOfText } from './rpc.ts';

/** Calls kept; a client that never asks the same again pays for this many lines. */
const KEPT = 256;
/** Longer ones are rarely the same again, and costly to compare. */
const MAX_BYTES = 1024;

const HEAD = /^\{"jsonrpc":"2\.0","id":(-?\d{1,15}|"[ !#-[\]-~]*"),/;
const TAIL = /,"id":(-?\d{1,15}|"[ !#-[\]-~]*")\}\s*$/;

/** What is known of a call that was let through at once, but for its id. */
type Known = Pick<
  Call,
  'tool' | 'args' | 'message' | 'understanding' | 'revision' | 'trusts' | 'session' | 'keys'
>;

/**
 * Calls that were let through at once, by their text without the id. The same text again is the same call: it needs to be
 * neither parsed nor understood again.
 */
export class RepeatedCalls {
  readonly #known = new Map<string, Known>();
  #edition = 0;

  /** The call a line repeats, with the line's own id. What was kept in another edition is forgotten. */
  find(line: Buffer, edition: number): Found | undefined {
    if (this.#known.size === 0 || edition !== this.#edition) return undefined;
    const text = withoutId(line);
    const known = text === undefined ? undefined : this.#known.get(text.rest);
    if (text === undefined || known === undefined) return undefined;
    return { id: text.id, key: idKeyOfText(text.id), known };
  }

  keep(call: Call, edition: number): void {
    if (edition !== this.#edition) this.#known.clear();
    this.#edition = edition;
    const text = withoutId(call.line);
    // Where an id is written twice, readers differ in which one they take.
    if (text === undefined || idKeyOfText(text.id) !== call.key || text.rest.includes('"id"')) return;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= KEPT && oldest !== undefined) this.#known.delete(oldest);
    const { tool, args, message, understanding, revision, trusts, session, keys } = call;
    // Not the line: it is a piece of a much larger buffer.
    this.#known.set(text.rest, { tool, args, message, understanding, revision, trusts, session, keys });
  }
}

interface Found {
  readonly id: string;
  readonly key: string;
  readonly known: Known;
}

function withoutId(line: Buffer): { readonly id: string; readonly rest: string } | undefined {
  if (line.length > MAX_BYTES) return undefined;
  const text = line.toString('latin1');
  const found = HEAD.exec(text) ?? TAIL.exec(text);
  const [whole, id] = found ?? [];
  if (found === null || whole === undefined || id === undefined) return undefined;
  const { index } = found;
  return { id, rest: index === 0 ? text.slice(whole.length) : text.slice(0, index) };
}
