import { cannotEdit, type EditedConfig, edited, eolOf, type Splice, spliced } from './edit.ts';
import type { HookPiece } from './hook-settings.ts';
import { insertFirst, newMember, removeMember } from './json-members.ts';
import { scanJson, skipJsonBlanks } from './json-scan.ts';
import { compact, type JsonValue, styleOf } from './json-style.ts';
import { type ArrayNode, type ConfigNode, memberOf, type ObjectNode, ScanProblem } from './node.ts';

/**
 * Matches the names of our files in the state folder. A hook or plugin with such a name in a
 * client's settings is ours.
 */
const OURS = /lookfirst-(?:hook|opencode|shell)\b/;

/**
 * True if a piece (a hook or setting that `init` adds) contains the name Lookfirst. Such a piece in
 * a settings file is always ours.
 */
export function namesUs({ item }: HookPiece): boolean {
  return JSON.stringify(item).includes('lookfirst');
}

/** The name under which `init` records that it added a piece (a hook or setting). */
export function nameOfPiece({ at, item }: HookPiece): string {
  return `${at.join('.')}=${namesUs({ at, item }) ? 'lookfirst' : JSON.stringify(item)}`;
}

/**
 * True if the piece is a string, such as the name of a denied tool, and the settings file already
 * holds it. False for any other piece.
 */
export function hasPiece(text: string | undefined, { at, item }: HookPiece): boolean {
  const root = text === undefined ? undefined : rootIfAny(text);
  const node = root === undefined ? undefined : nodeAt(root, at);
  const strings = node?.kind === 'array' ? node.items : [node];
  return strings.some((each) => each?.kind === 'string' && each.value === item);
}

/**
 * Adds pieces (hooks and settings) to a settings file. Replaces pieces that contain the name
 * Lookfirst, and keeps all other bytes. A file that already has all pieces stays unchanged.
 */
export function addPieces(
  text: string | undefined,
  pieces: readonly HookPiece[],
  header: Readonly<Record<string, JsonValue>> = {},
): EditedConfig {
  const clean = removePieces(text, pieces.filter(namesUs));
  if (!clean.ok) return clean;
  let result = clean.text ?? '';
  for (const piece of pieces) {
    if (hasPiece(result, piece)) continue;
    const root = rootOf(result);
    if (root === undefined || root.members.length === 0) {
      result = firstPiece(result, root, { ...header, ...nested(piece.at, contentOf(piece)) });
      continue;
    }
    const splice = addition(result, root, piece);
    if (splice === undefined) return cannotEdit(`${piece.at.join('.')} is not ${expectedAt(piece)}`);
    if (splice !== 'set') result = spliced(result, [splice]);
  }
  return edited(text !== undefined && meaningOf(text) === meaningOf(result) ? text : result);
}

/**
 * Writes `document` into a settings file that is blank or whose object has no members yet. Keeps
 * comments.
 */
function firstPiece(text: string, root: ObjectNode | undefined, document: object): string {
  const bare = JSON.stringify(document, null, 2);
  if (root === undefined) return `${text.trim() === '' ? '' : `${text.trimEnd()}\n`}${bare}\n`;
  const isBlank = text.slice(root.from + 1, root.to - 1).trim() === '';
  if (isBlank) return spliced(text, [{ from: root.from, to: root.to, put: bare }]);
  // Put the members before the comments, without the braces of `bare`.
  return spliced(text, [{ from: root.from + 1, to: root.from + 1, put: bare.slice(1, -2) }]);
}

function expectedAt({ needed, item }: HookPiece): string {
  return needed === true ? JSON.stringify(item) : 'a list';
}

/** The content of a document, for comparisons that ignore layout, comments and the order of keys. */
function meaningOf(text: string): string {
  const meaning = (node: ConfigNode | undefined): unknown => {
    if (node?.kind === 'object')
      return node.members
        .map(({ key, value }) => [key, meaning(value)])
        .sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
    if (node?.kind === 'array') return { items: node.items.map(meaning) };
    return node?.kind === 'string' ? node.value : { is: text.slice(node?.from, node?.to) };
  };
  return JSON.stringify(meaning(rootOf(text)));
}

/**
 * Removes the hooks and settings that `init` added, and the lists and objects that become empty.
 * All other bytes stay.
 */
export function removePieces(text: string | undefined, pieces: readonly HookPiece[]): EditedConfig {
  if (text === undefined) return edited(undefined);
  try {
    rootOf(text);
  } catch (error) {
    if (!(error instanceof ScanProblem)) throw error;
    return cannotEdit(`it is not valid JSON: ${error.message}`, text, error.at);
  }
  let result = text;
  for (const { at } of pieces) result = withoutOurs(result, at, pieces);
  return edited(result);
}

/**
 * The document's outermost object; undefined for a blank text. Throws a ScanProblem if the document
 * is not an object.
 */
function rootOf(text: string): ObjectNode | undefined {
  const root = scanJson(text);
  if (root !== undefined && root.kind !== 'object')
    throw new ScanProblem('it is not a JSON object', root.from);
  return root;
}

/** The document's outermost object; undefined if the text is not a JSON object. */
function rootIfAny(text: string): ObjectNode | undefined {
  try {
    return rootOf(text);
  } catch (error) {
    if (error instanceof ScanProblem) return undefined;
    throw error;
  }
}

function nested([key, ...rest]: readonly string[], value: JsonValue): { readonly [key: string]: JsonValue } {
  return { [key ?? '']: rest.length === 0 ? value : nested(rest, value) };
}

/**
 * The JSON value to write for a piece (a hook or setting) whose list or key the settings file does
 * not have.
 */
function contentOf({ kind, item }: HookPiece): JsonValue {
  return kind === 'member' ? item : [item];
}

/**
 * The text change that adds a piece (a hook or setting) to its list. Creates missing lists and
 * members. Returns `set` if the user has already set the member, and undefined if the file has a
 * value of another kind where a list or an object is needed.
 */
function addition(text: string, root: ObjectNode, piece: HookPiece): Splice | 'set' | undefined {
  const { at, item, kind } = piece;
  let node: ConfigNode = root;
  for (const [depth, key] of at.entries()) {
    if (node.kind !== 'object') return undefined;
    const member = memberOf(node, key);
    if (member === undefined) {
      const rest = at.slice(depth + 1);
      const value = rest.length === 0 ? contentOf(piece) : nested(rest, contentOf(piece));
      const added = newMember(key, value, styleOf(text));
      if (node.members.length > 0) return insertFirst(text, node, added);
      return { from: node.from + 1, to: node.from + 1, put: `${JSON.stringify(key)}: ${compact(value)}` };
    }
    node = member.value;
  }
  if (kind === 'member') return piece.needed === true ? undefined : 'set';
  return node.kind === 'array' ? newItem(text, node, item) : undefined;
}

/**
 * Adds an item in front of the others, in their layout, so that the text after the last item stays
 * unchanged.
 */
function newItem(text: string, list: ArrayNode, item: JsonValue): Splice {
  const at = list.from + 1;
  const [first] = list.items;
  if (first === undefined) return { from: at, to: at, put: compact(item) };
  const gap = text.slice(at, first.from);
  const lead = gap.includes('\n') ? `${eolOf(text)}${/[ \t]*$/.exec(gap)?.[0] ?? ''}` : gap;
  return { from: at, to: at, put: `${lead}${compact(item)},` };
}

function withoutOurs(text: string, at: readonly string[], pieces: readonly HookPiece[]): string {
  const root = rootOf(text);
  const list = root === undefined ? undefined : nodeAt(root, at);
  if (list?.kind === 'string') return isOurs(text, list, { at, pieces }) ? withoutMember(text, at) : text;
  if (list?.kind !== 'array') return text;
  const ours = list.items.filter((item) => isOurs(text, item, { at, pieces }));
  const [first] = ours;
  if (first === undefined) return text;
  if (ours.length === list.items.length) return withoutMember(text, at);
  return withoutOurs(spliced(text, [itemCut(text, list, first)]), at, pieces);
}

/**
 * True if Lookfirst added the item: it contains the name of one of our files, or `pieces` contains
 * the same string (a denied tool) for the same place.
 */
function isOurs(
  text: string,
  item: ConfigNode,
  { at, pieces }: { readonly at: readonly string[]; readonly pieces: readonly HookPiece[] },
): boolean {
  if (OURS.test(text.slice(item.from, item.to))) return true;
  if (item.kind !== 'string') return false;
  return pieces.some((piece) => piece.at.join('\0') === at.join('\0') && piece.item === item.value);
}

/**
 * The range of an item with the blanks before it and one comma. Removing it is the exact reverse of
 * `newItem`.
 */
function itemCut(text: string, list: ArrayNode, item: ConfigNode): Splice {
  const index = list.items.indexOf(item);
  const previous = list.items[index - 1];
  const comma = skipJsonBlanks(text, item.to);
  const from = previous === undefined ? list.from + 1 : skipJsonBlanks(text, previous.to) + 1;
  if (text[comma] === ',') return { from, to: comma + 1, put: '' };
  return { from: previous === undefined ? from : from - 1, to: item.to, put: '' };
}

/** The text without a member, and without the objects around it that become empty. */
function withoutMember(text: string, at: readonly string[]): string {
  const parent = at.slice(0, -1);
  const root = rootOf(text);
  const object = root === undefined ? undefined : nodeAt(root, parent);
  const member = object?.kind === 'object' ? memberOf(object, at.at(-1) ?? '') : undefined;
  if (object?.kind !== 'object' || member === undefined) return text;
  if (object.members.length === 1 && parent.length > 0) return withoutMember(text, parent);
  return spliced(text, removeMember(text, object, member));
}

function nodeAt(root: ObjectNode, at: readonly string[]): ConfigNode | undefined {
  let node: ConfigNode | undefined = root;
  for (const key of at) node = node?.kind === 'object' ? memberOf(node, key)?.value : undefined;
  return node;
}
