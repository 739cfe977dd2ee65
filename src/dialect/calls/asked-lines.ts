import type { LineRange } from '../../model/coverage.ts';
import type { LineArguments } from './table.ts';
import type { AskedLines } from './touch.ts';

type Scope = Readonly<Record<string, unknown>>;

/** The lines a read asks for, by its arguments; undefined: the whole file. */
export function askedLines(names: LineArguments | undefined, scope: Scope): AskedLines[] | undefined {
  if (names === undefined) return undefined;
  if (names.each === undefined) {
    const asked = askedOnce(names, scope);
    return asked === undefined ? undefined : [asked];
  }
  const items = scope[names.each];
  if (!Array.isArray(items)) return undefined;
  return items.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null) return [];
    // An item of a JSON array that is an object; its fields are looked up by name and checked one by one.
    return [askedOnce(names, item as Scope) ?? { from: 1, to: undefined }];
  });
}

/** The lines a change replaces, where its arguments name them; otherwise none, which means any line. */
export function touchedLines(
  names: LineArguments | undefined,
  scope: Scope,
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

function askedOnce(names: LineArguments, scope: Scope): AskedLines | undefined {
  const head = numberAt(scope, names.head);
  if (head !== undefined && head !== 0) return { from: 1, to: Math.ceil(head) };
  const tail = numberAt(scope, names.tail);
  if (tail !== undefined && tail !== 0) return { from: -Math.ceil(tail), to: -1 };
  const base = names.firstLine ?? 1;
  const first = numberAt(scope, names.from);
  const last = numberAt(scope, names.to);
  const count = numberAt(scope, names.count) ?? names.defaultCount;
  if (first === undefined && last === undefined && count === undefined) return undefined;
  // With a last line too, servers disagree on what a negative first one means: counted as little as any of them shows.
  if (first !== undefined && first < 0) return { from: first, to: last === undefined ? -1 : last - base + 1 };
  const from = Math.max(1, (first ?? base) - base + 1);
  if (last !== undefined) return { from, to: last - base + 1 };
  return { from, to: count === undefined ? undefined : from + count - 1 };
}

function numberAt(scope: Scope, name: string | undefined): number | undefined {
  const value = name === undefined ? undefined : scope[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
