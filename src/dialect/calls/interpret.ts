import type { LineRange } from '../../model/coverage.ts';
import type { Edit, HostIntent } from '../../model/intent.ts';
import { isRecord } from '../../model/record.ts';
import { quotedWord } from '../../report/bounded.ts';
import { argumentSets, inferRules, type ToolTraits } from './infer.ts';
import { patchIntents } from './patch.ts';
import {
  type Arguments,
  argumentIn,
  conditionHolds,
  everyPathIn,
  itemsOf,
  pathNames,
  respelled,
  type StringArgument,
  scopesOf,
  stringArguments,
  textIn,
} from './rule-scope.ts';
import type { ArgumentName, EditArguments, LineArguments, Rule } from './table.ts';
import { type AskedLines, pathsOfTouch, type RunTouch, type Touch } from './touch.ts';

/** The effects of a call, and how certain they are. */
export interface Interpretation {
  readonly touches: readonly Touch[];
  /** True if no table describes the tool, so that `touches` is a guess. */
  readonly guessed: boolean;
  /**
   * True if the call may change something that `touches` does not name: it runs a command, its tool
   * is unknown, or a changing tool got no path.
   */
  readonly unexplained: boolean;
}

/** A tool call: the known traits of the tool, and the arguments. */
export interface HostCall {
  readonly tool: ToolTraits;
  readonly args: Arguments;
}

/** Interprets a call by the rules of its tool, or by a guess if no table has the tool. */
export function interpret(call: HostCall, rules: readonly Rule[] | undefined): Interpretation {
  const { tool, args } = call;
  if (rules === undefined) {
    const guesses = argumentSets(args).map((set) => ({ ...set, ...inferRules(tool, set.args) }));
    const touches = guesses.flatMap((guess) => touchesOf(guess.rules, guess.args));
    return { touches, guessed: true, unexplained: guesses.some((guess) => guess.mayChange) };
  }
  const touches = [args, ...respelled(rules, args)].flatMap((each) => touchesOf(rules, each));
  // If a call of a changing tool names no path, its effect is unknown. A call of a tool that only
  // reads needs no path.
  const lost = touches.length === 0 && rules.some(mayChange) && !isHarmless(rules, args);
  const unexplained = lost || touches.some(({ does }) => does === 'unknown' || does === 'run');
  return { touches, guessed: false, unexplained };
}

/** The paths of a call and the texts that it writes, by the rules of its tool, or by a guess. */
export function stringsOf({ tool, args }: HostCall, rules: readonly Rule[] | undefined): StringArgument[] {
  if (rules !== undefined) return stringArguments(rules, args);
  return argumentSets(args).flatMap(({ at, args: each }) =>
    stringArguments(inferRules(tool, each).rules, each).map((one) => ({ ...one, at: [...at, ...one.at] })),
  );
}

/**
 * Returns the effects that these rules give for the arguments. Empty if no rule fits the arguments.
 */
export function touchesOf(rules: readonly Rule[], args: Arguments): Touch[] {
  const touches: Touch[] = [];
  for (const rule of rules)
    for (const { values } of scopesOf(rule, args)) {
      const usual = ruleTouches(rule, values);
      touches.push(...usual, ...otherTouches(rule, values, usual));
    }
  return touches;
}

/**
 * The effects of a rule on paths in a form that the rule does not expect: a list instead of a
 * single path, or several paths under different names. If the rule changes files, it may change
 * each such path in any way. If not, each such path is only looked at, so that no content counts as
 * seen.
 */
function otherTouches(rule: Rule, scope: Arguments, usual: readonly Touch[]): Touch[] {
  const known = new Set(usual.flatMap(pathsOfTouch));
  const others = pathNames(rule).flatMap((name) => everyPathIn(scope, name));
  return others
    .filter((path) => !known.has(path))
    .map((path) => (mayChange(rule) ? change({ kind: 'touch', path }) : { does: 'look', path }));
}

export function mayChange({ does }: Rule): boolean {
  return !['look', 'list', 'read', 'search', 'nothing'].includes(does);
}

/** True if the rules say that this call touches no files. */
function isHarmless(rules: readonly Rule[], args: Arguments): boolean {
  return rules.some((rule) => rule.does === 'nothing' && scopesOf(rule, args).length > 0);
}

function ruleTouches(rule: Rule, scope: Arguments): Touch[] {
  switch (rule.does) {
    case 'nothing':
      return [];
    case 'unknown':
      return [{ does: 'unknown' }];
    case 'run':
      return [runTouch(rule, scope)];
    case 'search':
      return [{ does: 'search', path: textIn(scope, rule.path) }];
    case 'patch':
      return patchIntents(textIn(scope, rule.patch) ?? '').map(change);
    case 'move':
    case 'copy':
      return transfer(rule, textIn(scope, rule.source), textIn(scope, rule.destination));
    default: {
      const path = textIn(scope, rule.path);
      return path === undefined ? [] : [fileTouch(rule, path, scope)];
    }
  }
}

type PathlessRule = 'nothing' | 'unknown' | 'run' | 'search' | 'patch' | 'move' | 'copy';
type FileRule = Exclude<Rule, { readonly does: PathlessRule }>;

function fileTouch(rule: FileRule, path: string, scope: Arguments): Touch {
  switch (rule.does) {
    case 'look':
    case 'list':
      return { does: rule.does, path };
    case 'read':
      return { does: 'read', path, asked: askedLines(rule.lines, scope), shown: rule.shown };
    case 'mkdir':
      return change({ kind: 'mkdir', path });
    case 'write': {
      const content = textIn(scope, rule.content);
      return change(content === undefined ? { kind: 'touch', path } : { kind: 'write', path, content });
    }
    case 'edit':
      return editTouch(rule.edit, path, scope);
    case 'insert':
      return insertTouch(rule, path, scope);
    case 'touch':
      return change({ kind: 'touch', path, ...touchedLines(rule.lines, scope) });
    case 'delete':
      return change({ kind: 'delete', path, recursive: argumentIn(scope, rule.recursive) === true });
    default:
      return rule satisfies never;
  }
}

function change(intent: HostIntent): Touch {
  return { does: 'change', intent };
}

/** The change that an edit makes. If its texts are not exactly known, it may change any line. */
function editTouch(names: EditArguments, path: string, scope: Arguments): Touch {
  const edits = editsOf(names, scope);
  const [first] = edits;
  if (first === undefined) return change({ kind: 'touch', path });
  const creates = names.emptyCreates === true && first.oldString === '' && edits.length === 1;
  return change(creates ? { kind: 'write', path, content: first.newString } : { kind: 'edit', path, edits });
}

function insertTouch(rule: Extract<Rule, { does: 'insert' }>, path: string, scope: Arguments): Touch {
  const content = textIn(scope, rule.content) ?? '';
  if (rule.after === undefined) return change({ kind: 'insert', path, content });
  const line = argumentIn(scope, rule.after.argument);
  if (typeof line !== 'number') return change({ kind: 'touch', path });
  return change({ kind: 'insert', path, content, afterLine: Math.max(0, line + rule.after.plus) });
}

function runTouch(rule: Extract<Rule, { does: 'run' }>, scope: Arguments): RunTouch {
  const given = argumentIn(scope, rule.command);
  const list = Array.isArray(given) ? given : [];
  const words = list.every((word) => typeof word === 'string') ? list : [];
  const isClear = typeof given === 'string' || words.length > 0 || rule.optional === true;
  const folder = rule.folder === undefined ? undefined : textIn(scope, rule.folder);
  return {
    does: 'run',
    command: typeof given === 'string' ? given : words.map(shellWord).join(' '),
    ...(folder === undefined ? {} : { folder }),
    ...(argumentIn(scope, rule.background) === true ? { background: true } : {}),
    ...(isClear ? {} : { unclear: true }),
  };
}

/**
 * Quotes a word for a shell line if necessary, so that the line means the same as the list of
 * words.
 */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quotedWord(word);
}

/**
 * The effects of a copy or move. A copy may create or replace its destination. The new bytes of the
 * destination are unknown, except that they come from the source.
 */
function transfer(
  rule: Extract<Rule, { readonly does: 'move' | 'copy' }>,
  source: string | undefined,
  destination: string | undefined,
): Touch[] {
  if (source === undefined || destination === undefined) return [];
  if (rule.does === 'move') {
    const onto = rule.taken === undefined ? {} : { overwrite: false };
    return [change({ kind: 'move', source, destination, ...onto })];
  }
  return [{ does: 'look', path: source }, change({ kind: 'touch', path: destination })];
}

/**
 * The edits of a call. Empty if the edits are not exactly known: an edit lacks its old or new text,
 * or the tool may replace text that only resembles the old text.
 */
function editsOf(names: EditArguments, scope: Arguments): Edit[] {
  const items = names.each === undefined ? [scope] : itemsOf(scope[names.each]).map(recordOf);
  if (
    [names.loosely ?? []]
      .flat()
      .some((loose) => items.some((item) => conditionHolds(loose, { ...scope, ...item }, item)))
  )
    return [];
  const edits = items.flatMap((item) => {
    const oldString = textIn(item, names.old);
    const newString = textIn(item, names.new);
    if (oldString === undefined || newString === undefined) return [];
    return [{ oldString, newString, replaceAll: meansAll(names, item) }];
  });
  return edits.length === items.length ? edits : [];
}

function recordOf(value: unknown): Arguments {
  return isRecord(value) ? value : {};
}

function meansAll(names: EditArguments, item: Arguments): boolean {
  const count = argumentIn(item, names.occurrences);
  if (typeof count === 'number' && count > 1) return true;
  if (names.all === undefined) return false;
  const flag = argumentIn(item, names.all);
  return typeof flag === 'boolean' ? flag : names.allByDefault === true;
}

/** The lines that a read requests by its arguments; undefined for the whole file, empty if they are unclear. */
function askedLines(names: LineArguments | undefined, scope: Arguments): AskedLines[] | undefined {
  if (names === undefined) return undefined;
  if (names.each === undefined) {
    const asked = askedOnce(names, scope);
    return asked === undefined ? undefined : [asked];
  }
  const items = scope[names.each];
  if (items === undefined || items === null) return undefined;
  return itemsOf(items)
    .filter(isRecord)
    .map((item): AskedLines => askedOnce(names, item) ?? { from: 1, to: undefined });
}

/** The lines that a change replaces, if its arguments name them. Without `lines`, the change may replace any line. */
function touchedLines(names: LineArguments | undefined, scope: Arguments): { lines?: readonly LineRange[] } {
  const asked = askedLines(names, scope);
  if (asked === undefined || asked.length === 0) return {};
  const lines: LineRange[] = [];
  for (const { from, to } of asked) {
    if (from < 1 || to === undefined || to < 0) return {};
    // A range that ends before it begins names the gap between two lines. Both lines count as touched.
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
  // Servers disagree about a negative first line if the call also has a last line: some count the
  // first line from the end, others read from line 1. Servers also disagree about a limit: some
  // ignore it. So return the numbers as requested. The answer later shows which lines the server
  // meant.
  if (first !== undefined && first < 0)
    return { from: first, to: last ?? Math.min(-1, first - 1 + (count ?? Number.POSITIVE_INFINITY)) };
  const from = Math.max(1, (first ?? base) - base + 1);
  return { from, to: last ?? (count === undefined ? undefined : from + count - 1) };
}

/**
 * The number of lines that a call requests, or the tool's default (`defaultCount`). A number below 1
 * counts as absent, because the tools ignore such a number too.
 */
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

/** A number, also if it is written as a string of digits. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
