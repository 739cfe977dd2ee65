import type { Edit } from '../../model/intent.ts';
import { isRecord } from '../../model/record.ts';
import { askedLines, touchedLines } from './asked-lines.ts';
import { type Arguments, holds, scopesOf } from './rule-scope.ts';
import type { EditArguments, Rule } from './table.ts';
import type { Step } from './touch.ts';

/**
 * What a call does, by the rules of its tool. No step at all means that no rule found its arguments: the caller must
 * treat the call as unknown, unless a rule says `nothing`.
 */
export function interpretCall(rules: readonly Rule[], args: Arguments): Step[] {
  const steps: Step[] = [];
  for (const rule of rules)
    for (const scope of scopesOf(rule, args)) steps.push(...stepsOf(rule, scope.values));
  return steps;
}

/** True when the rules say of this call that it touches no files. */
export function isHarmless(rules: readonly Rule[], args: Arguments): boolean {
  return rules.some((rule) => rule.does === 'nothing' && scopesOf(rule, args).length > 0);
}

function stepsOf(rule: Rule, scope: Arguments): Step[] {
  switch (rule.does) {
    case 'nothing':
      return [];
    case 'unknown':
      return [{ does: 'unknown' }];
    case 'run':
      return [{ does: 'run', command: textOf(scope[rule.command]) ?? '' }];
    case 'move':
    case 'copy':
      return transfer(rule, textOf(scope[rule.source]), textOf(scope[rule.destination]));
    default: {
      const path = textOf(scope[rule.path]);
      return path === undefined ? [] : [fileStep(rule, path, scope)];
    }
  }
}

type FileRule = Exclude<Rule, { readonly does: 'nothing' | 'unknown' | 'run' | 'move' | 'copy' }>;

function fileStep(rule: FileRule, path: string, scope: Arguments): Step {
  switch (rule.does) {
    case 'look':
    case 'list':
      return { does: rule.does, path };
    case 'read':
      return { does: 'read', path, asked: askedLines(rule.lines, scope), shown: rule.shown };
    case 'mkdir':
      return { does: 'change', intent: { kind: 'mkdir', path } };
    case 'write':
      return { does: 'change', intent: { kind: 'write', path, content: textOf(scope[rule.content]) ?? '' } };
    case 'edit':
      return editStep(path, editsOf(rule.edit, scope));
    case 'insert':
      return insertStep(rule, path, scope);
    case 'touch':
      return { does: 'change', intent: { kind: 'touch', path, ...touchedLines(rule.lines, scope) } };
    case 'delete': {
      const recursive = rule.recursive !== undefined && scope[rule.recursive] === true;
      return { does: 'change', intent: { kind: 'delete', path, recursive } };
    }
    default:
      return rule satisfies never;
  }
}

/** An edit that does not name its text exactly is one of unknown lines. */
function editStep(path: string, edits: readonly Edit[]): Step {
  const intent =
    edits.length === 0 ? { kind: 'touch' as const, path } : { kind: 'edit' as const, path, edits };
  return { does: 'change', intent };
}

function insertStep(rule: Extract<Rule, { does: 'insert' }>, path: string, scope: Arguments): Step {
  const content = textOf(scope[rule.content]) ?? '';
  if (rule.after === undefined) return { does: 'change', intent: { kind: 'insert', path, content } };
  const line = scope[rule.after.argument];
  if (typeof line !== 'number') return { does: 'change', intent: { kind: 'touch', path } };
  return {
    does: 'change',
    intent: { kind: 'insert', path, content, afterLine: Math.max(0, line + rule.after.plus) },
  };
}

/** A copy may create or replace its destination; nothing is known of the bytes but where they come from. */
function transfer(
  rule: Extract<Rule, { readonly does: 'move' | 'copy' }>,
  source: string | undefined,
  destination: string | undefined,
): Step[] {
  if (source === undefined || destination === undefined) return [];
  if (rule.does === 'move') {
    const onto = rule.taken === undefined ? {} : { overwrite: false };
    return [{ does: 'change', intent: { kind: 'move', source, destination, ...onto } }];
  }
  return [
    { does: 'look', path: source },
    { does: 'change', intent: { kind: 'touch', path: destination } },
  ];
}

/** None where the server may change other text than the old one. */
function editsOf(names: EditArguments, scope: Arguments): Edit[] {
  const items = names.each === undefined ? [scope] : itemsOf(scope[names.each]).filter(isRecord);
  if (names.loosely?.some((loose) => items.some((item) => holds(loose, { ...scope, ...item }, item))))
    return [];
  return items.flatMap((item) => {
    const oldString = textOf(item[names.old]);
    const newString = textOf(item[names.new]);
    if (oldString === undefined || newString === undefined) return [];
    return [{ oldString, newString, replaceAll: meansAll(names, item) }];
  });
}

function meansAll(names: EditArguments, item: Arguments): boolean {
  const count = names.occurrences === undefined ? undefined : item[names.occurrences];
  if (typeof count === 'number' && count > 1) return true;
  if (names.all === undefined) return false;
  const flag = item[names.all];
  return typeof flag === 'boolean' ? flag : names.allByDefault === true;
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
