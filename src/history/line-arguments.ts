import { integerIn, type JsonRecord } from './json-value.ts';

/** Lines a call asks for; see ReadAccess. */
export interface AskedLines {
  readonly from?: number;
  readonly to?: number;
}

/** The lines in a read's arguments, under any of their usual names; nothing when it asks for all of the file. */
export function askedLines(args: JsonRecord): AskedLines {
  return byViewRange(args) ?? byHeadOrTail(args) ?? byEnds(args) ?? byCount(args);
}

/** `view_range: [a, b]`, b = -1 being the end. */
function byViewRange(args: JsonRecord): AskedLines | undefined {
  const range = args['view_range'] ?? args['viewRange'];
  if (!Array.isArray(range)) return undefined;
  const [from, to] = range;
  if (!Number.isSafeInteger(from)) return undefined;
  return {
    from: Math.max(1, Number(from)),
    ...(Number.isSafeInteger(to) && to > 0 ? { to: Number(to) } : {}),
  };
}

/** 0 is "not given" to the tools that have these. */
function byHeadOrTail(args: JsonRecord): AskedLines | undefined {
  const head = integerIn(args, 'head');
  if (head !== undefined && head > 0) return { from: 1, to: head };
  const tail = integerIn(args, 'tail');
  return tail !== undefined && tail > 0 ? { from: -tail } : undefined;
}

function byEnds(args: JsonRecord): AskedLines | undefined {
  const from = integerIn(args, 'start_line') ?? integerIn(args, 'startLine');
  const to = integerIn(args, 'end_line') ?? integerIn(args, 'endLine');
  if (from === undefined && to === undefined) return undefined;
  return { from: Math.max(1, from ?? 1), ...(to === undefined || to < 1 ? {} : { to }) };
}

function byCount(args: JsonRecord): AskedLines {
  const offset = integerIn(args, 'offset');
  const limit = integerIn(args, 'limit');
  if (offset === undefined && limit === undefined) return {};
  const from = Math.max(1, offset ?? 1);
  return { from, ...(limit === undefined || limit < 1 ? {} : { to: from + limit - 1 }) };
}
