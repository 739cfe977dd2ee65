import {
  ConfigProblem,
  type ConfigTable,
  type ConfigValue,
  isList,
  valueAt,
  withoutValue,
  withValue,
} from './config-value.ts';
import type { ClientHooks, HookFiles, HookPiece } from './hook-settings.ts';

/** The hooks to add to the client's settings besides our server. */
export interface HookRequest {
  /** True to add hooks that check every call of the client's own tools. */
  readonly gate: boolean;
  /** True to also deny the client's own edit tools. */
  readonly only: boolean;
  /**
   * `layer`: the client's shell runs on a layer (a copy-on-write view of the workspace), if the
   * client has a setting for it. `images`: hooks compare the files before and after each command.
   */
  readonly shell: 'layer' | 'images';
}

/**
 * Matches the names of our files in the state folder. A hook or plugin with such a name in a
 * client's settings is ours.
 */
const OURS = /lookfirst-(?:hook|opencode|shell)\b/;

/** The pieces that `init` adds to a client's settings. */
export function piecesOf(
  settings: ClientHooks,
  files: HookFiles,
  { gate, only, shell }: HookRequest,
): readonly HookPiece[] {
  const layered = shell === 'layer' && settings.shell !== undefined ? [settings.shell(files)] : [];
  const gates = gate ? [...settings.pieces(files), ...layered] : [];
  return [...gates, ...(only ? (settings.only ?? []) : [])];
}

/** Adds pieces (hooks and settings) to a settings file. Replaces pieces that name our files. */
export function withPieces(
  have: ConfigTable,
  pieces: readonly HookPiece[],
  header: ConfigTable = {},
): ConfigTable {
  const clean = withoutOurs(have, pieces, { isOurs: ({ item }) => namesUs(item), former: undefined });
  const begun = Object.keys(clean).length === 0 ? header : clean;
  return pieces.reduceRight((table, { at, item, kind, needed }) => {
    const there = valueAt(table, ...at);
    if (kind !== 'member') {
      if (there !== undefined && !isList(there)) throw new ConfigProblem(`${at.join('.')} is not a list`);
      const others = there ?? [];
      return others.includes(item) ? table : withValue(table, at, [item, ...others]);
    }
    if (there === undefined) return withValue(table, at, item);
    if (needed !== true || there === item) return table;
    throw new ConfigProblem(`${at.join('.')} is not ${JSON.stringify(item)}`);
  }, begun);
}

/**
 * Removes the pieces that `init` added, and the lists and tables that become empty. Pieces without
 * our name (denied tools) are ours if `former`, the content before `init`, does not have them.
 * Without `former`, they are ours if the file has all of them.
 */
export function withoutPieces(
  have: ConfigTable,
  pieces: readonly HookPiece[],
  former: ConfigTable | undefined,
): ConfigTable {
  const nameless = pieces.filter(({ item }) => !namesUs(item));
  const hasAll = nameless.every((piece) => hasPiece(have, piece));
  const isOurs = (piece: HookPiece): boolean =>
    namesUs(piece.item) || (former === undefined ? hasAll : !hasPiece(former, piece));
  return withoutOurs(have, pieces, { isOurs, former });
}

function withoutOurs(
  have: ConfigTable,
  pieces: readonly HookPiece[],
  {
    isOurs,
    former,
  }: { readonly isOurs: (piece: HookPiece) => boolean; readonly former: ConfigTable | undefined },
): ConfigTable {
  return pieces.reduce((table, piece) => {
    const { at, item } = piece;
    const there = valueAt(table, ...at);
    const isGone = (value: ConfigValue): boolean =>
      OURS.test(JSON.stringify(value)) || (typeof value === 'string' && value === item && isOurs(piece));
    if (typeof there === 'string') return isGone(there) ? withoutValue(table, at, former) : table;
    if (!isList(there)) return table;
    const left = there.filter((value) => !isGone(value));
    if (left.length === there.length) return table;
    return left.length > 0 || isList(valueAt(former, ...at))
      ? withValue(table, at, left)
      : withoutValue(table, at, former);
  }, have);
}

/** True if a piece is a string, such as the name of a denied tool, and the file has it at its place. */
function hasPiece(have: ConfigTable, { at, item }: HookPiece): boolean {
  const there = valueAt(have, ...at);
  return typeof item === 'string' && (isList(there) ? there.includes(item) : there === item);
}

/** True if a value contains our name. Such a hook or setting is always ours. */
function namesUs(item: ConfigValue): boolean {
  return JSON.stringify(item).includes('lookfirst');
}
