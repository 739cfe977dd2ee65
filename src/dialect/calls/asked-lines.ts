import type { LineRange } from '../../model/coverage.ts';
import { isRecord } from '../../model/record.ts';
import { type Arguments, argumentIn } from './rule-scope.ts';
import type { ArgumentName, LineArguments } from './table.ts';
import type { AskedLines } from './touch.ts';

/** The lines a read asks for, by its arguments; undefined: the whole file. */
export function askedLines(names: LineArguments | undefined, scope: Arguments): AskedLines[] | undefined {
  if (names === undefined) return undefined;
  if (names.each === undefined) {
    const asked = askedOnce(names, scope);
    return asked === undefined ? undefined : [asked];
  }
  const items = scope[names.each];
  if (!Array.isArray(items)) return undefined;
  return items
    .filter(isRecord)
    .map((item): AskedLines => askedOnce(names, item) ?? { from: 1, to: undefined });
}

/** The lines a change replaces, where its arguments name them; otherwise none, which means any line. */
export function touchedLines(
  names: LineArguments | undefined,
  scope: Arguments,
): { lines?: readonly LineRange[] } {
  const asked = askedLines(names, scope);
  if (asked === undefined || asked.length === 0) return {};
  const lines: LineRange[] = [];
  for (const { from, to } of asked) {
    if (from < 1 || to === undefined || to < 0) return {};
    // A range that ends before it begins stands between two lines: both are its neighbours.
    lines.push(from <= to ? { from, to } : { from: Math.max(1, to), to: from });
  }
  return { lines };
}

function askedOnce(names: LineArguments, scope: Arguments): AskedLines | undefined {
  const range = argumentIn(scope, names.range);
  if (Array.isArray(range)) return inRange(range);
  const head = numberAt(scope, names.head);
  if (head !== undefined && head !== 0) return { from: 1, to: Math.ceil(head) };
  const tail = numberAt(scope, names.tail);
  if (tail !== undefined && tail !== 0) return { from: -Math.ceil(tail), to: -1 };
  return fromFirstLine(names, scope);
}

function fromFirstLine(names: LineArguments, scope: Arguments): AskedLines | undefined {
  const base = names.firstLine ?? 1;
  const first = numberAt(scope, names.from);
  const given = numberAt(scope, names.to);
  const last = given === undefined ? undefined : given - base + 1;
  const count = countIn(names, scope);
  if (first === undefined && last === undefined && count === undefined) return undefined;
  // Servers disagree on a negative first line together with a last one. This counts as little as any of them shows.
  if (first !== undefined && first < 0) return { from: first, to: last ?? -1 };
  const from = Math.max(1, (first ?? base) - base + 1);
  return { from, to: last ?? (count === undefined ? undefined : from + count - 1) };
}

/** A count below 1 means "no limit" to the tools that take it. */
function countIn(names: LineArguments, scope: Arguments): number | undefined {
  const count = numberAt(scope, names.count);
  return count === undefined || count < 1 ? names.defaultCount : count;
}

function inRange([first, last]: readonly unknown[]): AskedLines | undefined {
  const from = numberOf(first);
  const to = numberOf(last);
  if (from === undefined) return undefined;
  return { from: Math.max(1, from), to: to === undefined || to < 1 ? undefined : to };
}

function numberAt(scope: Arguments, name: ArgumentName | undefined): number | undefined {
  return numberOf(argumentIn(scope, name));
}

/** A number, also one that is written as a string of digits. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
