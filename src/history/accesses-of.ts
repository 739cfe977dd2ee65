import { usualRules } from '../dialect/calls/hosts/usual-names.ts';
import { touchesOf } from '../dialect/calls/interpret.ts';
import { readOfCommand } from '../dialect/calls/shell/read.ts';
import type { Rule } from '../dialect/calls/table.ts';
import type { ReadTouch, RunTouch, Touch } from '../dialect/calls/touch.ts';
import type { ForeignIntent } from '../model/intent.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import { lineCount } from '../text/lines.ts';
import type { Access, ReadAccess } from './access.ts';
import { enterDirectory } from './paths.ts';
import { shownText } from './shown-text.ts';

/** A tool call of a transcript, in a form that is independent of the host. */
export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  /** An object, or the JSON text of one. */
  readonly args: unknown;
  /** Working directory at the time of the call. */
  readonly cwd?: string | undefined;
  readonly atMs?: number | undefined;
  /** Id of the message that contains the call, if messages have ids. */
  readonly message?: string | undefined;
}

/** Returns the absolute path; undefined if it cannot be determined. */
export type Locate = (given: string, cwd: string | undefined) => string | undefined;

/**
 * The accesses that a call makes if it succeeds. Empty for tools that show no file, and for calls whose effect is
 * uncertain.
 */
export function accessesOf(call: RecordedCall, cwd: string | undefined, locate: Locate): readonly Access[] {
  const rules = usualRules(call.name);
  const args = rules === undefined ? undefined : argumentsOf(call.args, rules);
  if (rules === undefined || args === undefined) return [];
  const scene = { cwd, locate };
  const touches = touchesOf(rules, args);
  return touches.flatMap((touch) => accessesBy(touch, scene, touches));
}

interface Scene {
  readonly cwd: string | undefined;
  readonly locate: Locate;
}

function accessesBy(touch: Touch, scene: Scene, all: readonly Touch[]): readonly Access[] {
  switch (touch.does) {
    case 'read':
      return readAccess(touch, scene);
    case 'change':
      return changeAccess(touch.intent, scene, all);
    case 'run':
      return commandAccess(touch, scene);
    case 'search':
      return searchAccess(touch.path, scene);
    case 'look':
    case 'list':
    case 'unknown':
      return [];
    default:
      return touch satisfies never;
  }
}

/** The arguments as an object. A patch may be plain text instead. */
function argumentsOf(args: unknown, rules: readonly Rule[]): JsonRecord | undefined {
  if (isRecord(args)) return args;
  if (typeof args !== 'string') return undefined;
  const parsed = parseJson(args);
  if (isRecord(parsed)) return parsed;
  return rules.some(({ does }) => does === 'patch') ? { input: args } : undefined;
}

function readAccess(touch: ReadTouch, scene: Scene): readonly ReadAccess[] {
  const path = scene.locate(touch.path, scene.cwd);
  return path === undefined ? [] : [{ kind: 'read', path, touch }];
}

function changeAccess(intent: ForeignIntent, scene: Scene, all: readonly Touch[]): readonly Access[] {
  switch (intent.kind) {
    case 'write':
      return writeAccess(intent.path, intent.content, scene);
    case 'edit':
    case 'touch':
      return editAccess(movedTo(intent.path, all), scene);
    case 'insert':
      // An append shows nothing of the file.
      return intent.afterLine === undefined ? [] : editAccess(intent.path, scene);
    case 'delete':
    case 'move':
    case 'mkdir':
      return [];
    default:
      return intent satisfies never;
  }
}

function writeAccess(given: string, content: string | Uint8Array, scene: Scene): readonly Access[] {
  const path = scene.locate(given, scene.cwd);
  if (path === undefined || typeof content !== 'string') return [];
  const lines = lineCount(content);
  return [{ kind: 'write', path, given, lines, shown: shownText(content, { from: 1, to: lines }) }];
}

function editAccess(given: string, scene: Scene): readonly Access[] {
  const path = scene.locate(given, scene.cwd);
  return path === undefined ? [] : [{ kind: 'edit', path, given }];
}

/** The name of a file after a call that also moves it. */
function movedTo(path: string, all: readonly Touch[]): string {
  for (const touch of all)
    if (touch.does === 'change' && touch.intent.kind === 'move' && touch.intent.source === path)
      return touch.intent.destination;
  return path;
}

function commandAccess(run: RunTouch, scene: Scene): readonly Access[] {
  const read = readOfCommand(run);
  if (read === undefined) return [];
  return readAccess(read, { ...scene, cwd: enterDirectory(scene.cwd, run.folder) });
}

function searchAccess(given: string | undefined, scene: Scene): readonly Access[] {
  const target = given === undefined ? undefined : scene.locate(given, scene.cwd);
  const base = scene.locate('.', scene.cwd);
  if (base === undefined) return [];
  return [target === undefined ? { kind: 'search', base } : { kind: 'search', base, target }];
}
