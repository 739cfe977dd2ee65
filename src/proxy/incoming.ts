import { pathArguments } from '../dialect/calls/path-arguments.ts';
import { textArguments } from '../dialect/calls/text-arguments.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { straightenQuotes } from '../text/quotes.ts';
import { Bearings } from './bearings.ts';
import { type Call, toolOf } from './call.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { withoutRevision } from './receipt-tools.ts';
import { parseRecord } from './rpc.ts';
import { type Splice, spliceStrings } from './splice-strings.ts';
import { givenPaths, type Understanding, understand } from './understand.ts';

/** A call as it would be forwarded, and what it will do. */
type Incoming = Pick<
  Call,
  'line' | 'message' | 'tool' | 'args' | 'understanding' | 'revision' | 'trusts' | 'straightened'
>;

/**
 * Reads a call, and makes it one that means the same to the upstream as to us: without our own arguments, and with the
 * absolute path in place of one that the upstream might read otherwise.
 */
export function readCall(
  options: Pick<InterceptOptions, 'receipts' | 'catalogue' | 'where' | 'quotes'>,
  bearings: Bearings,
  given: { readonly line: Buffer; readonly message: JsonRecord },
): Incoming {
  const { catalogue, where, receipts } = options;
  bearings.sawClient(given.message);
  const { line, message, revision } = receipts
    ? withoutRevision(given.line, given.message, catalogue.rulesOf(toolOf(given.message).tool))
    : { ...given, revision: undefined };
  const request = toolOf(message);
  const understanding = understand(catalogue, request, where.cwd);
  bearings.sawCall(request.tool, catalogue.table);
  const call = { line, message, ...request, understanding, revision };
  const trusts = trustedEdition(understanding, bearings);
  const straight = straightened(options, request);
  const { count } = straight;
  const paths = trusts === undefined ? [] : splicesFor(options, bearings, request);
  const splices = [...paths, ...straight.splices];
  if (splices.length === 0) return { ...call, trusts, straightened: 0 };
  // What is sent is what is judged: it is read anew.
  const sent = spliceStrings(line, splices);
  const again = parseRecord(sent);
  const asked = toolOf(again);
  const meant = understand(catalogue, asked, where.cwd);
  const left = trustedEdition(meant, bearings);
  return {
    line: sent,
    message: again,
    ...asked,
    understanding: meant,
    revision,
    trusts: left,
    straightened: count,
  };
}

/**
 * The typographic quotes that the policy wants straight in the texts of a call. Of a part of a file it cannot be told
 * whether it stands in code, so only document D's rule, which does not ask, applies to it.
 */
function straightened(
  { catalogue, quotes }: Pick<InterceptOptions, 'catalogue' | 'quotes'>,
  { tool, args }: Pick<Call, 'tool' | 'args'>,
): { readonly splices: readonly Splice[]; readonly count: number } {
  const rules = quotes === 'off' ? undefined : catalogue.rulesOf(tool);
  const texts = rules === undefined ? [] : textArguments(rules, args);
  const changed = texts.flatMap(({ at, path, text, extent }) => {
    if (extent === 'part' && quotes !== 'all') return [];
    const straight = straightenQuotes(path, text, { mode: quotes });
    return straight.count === 0 ? [] : [{ at, straight }];
  });
  return {
    splices: changed.map(({ at, straight }) => ({
      at: ['params', 'arguments', ...at],
      value: straight.text,
    })),
    count: changed.reduce((sum, { straight }) => sum + straight.count, 0),
  };
}

/** The bearings that a call's paths rely on; undefined if all of them say by themselves where they lead, or if they are guessed. */
function trustedEdition(understanding: Understanding, { edition }: Bearings): number | undefined {
  const relies = !understanding.guessed && !givenPaths(understanding).every(Bearings.isPlain);
  return relies ? edition : undefined;
}

/** Only tools that a table describes: what else is called a path may be something else. */
function splicesFor(
  { catalogue }: Pick<InterceptOptions, 'catalogue'>,
  bearings: Bearings,
  { tool, args }: Pick<Call, 'tool' | 'args'>,
): Splice[] {
  const { table } = catalogue;
  const rules = catalogue.rulesOf(tool);
  if (table === undefined || rules === undefined) return [];
  return pathArguments(rules, args).flatMap(({ at, path }) => {
    const value = bearings.forwarded(path, table);
    return value === path ? [] : [{ at: ['params', 'arguments', ...at], value }];
  });
}

/** The server was moved while a call waited that relies on where it was. */
export function movedRefusal({ tool }: Call): Refusal {
  const detail = { reason: 'the folders of the server were changed' };
  return { code: 'UNVERIFIABLE', action: 'call', path: tool, next: 'retry_later', detail };
}
