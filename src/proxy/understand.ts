import { parse, sep } from 'node:path';
import { type Interpretation, interpret } from '../dialect/calls/interpret.ts';
import type { Arguments } from '../dialect/calls/rule-scope.ts';
import { looksOf, pathsOfTouch, type Touch } from '../dialect/calls/touch.ts';
import type { HostIntent } from '../model/intent.ts';
import type { Action } from '../model/verdict.ts';
import { canonicalPath } from '../records/scope.ts';
import type { Catalogue } from './catalogue.ts';
import { upstreamPath } from './upstream-paths.ts';

/** The effects of a call, how certain they are, and the files it concerns. */
export interface CallMeaning extends Interpretation {
  /** The file that the upstream (the server behind the proxy) will open for a path of the call. */
  place(path: string): string;
}

/** Interprets a call by Lookfirst's description of the tool. Without a description, guesses. */
export function understand(
  catalogue: Catalogue,
  call: { readonly tool: string; readonly args: Arguments },
  cwd: string,
): CallMeaning {
  const { relativeTo = 'cwd', expandsHome = true } = catalogue.table ?? {};
  const place = (path: string): string => upstreamPath(path, { relativeTo, expandsHome, cwd });
  const tool = catalogue.traitsOf(call.tool);
  const meaning = interpret({ tool, args: call.args }, catalogue.rulesOf(call.tool));
  if (!meaning.guessed) return { ...meaning, place };
  const touches = meaning.touches.filter((touch) => !isPartOfUrl(touch, place));
  return { ...meaning, touches, place };
}

/**
 * Matches an absolute path without `..` and `%`, which could lead a server from a missing folder to
 * an existing one.
 */
const PLAIN_URL_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.:@{}-]+)+\/?$/;

/**
 * True if a guessed path is probably a part of a URL, such as `/v1/users`: the call does not change
 * it, and its first folder does not exist on this machine. So the call cannot show a file at this
 * path.
 */
function isPartOfUrl(touch: Touch, place: CallMeaning['place']): boolean {
  if (touch.does !== 'look' && touch.does !== 'read' && touch.does !== 'list') return false;
  if (!PLAIN_URL_PATH.test(touch.path)) return false;
  const path = place(touch.path);
  const { root } = parse(path);
  const [first = ''] = path.slice(root.length).split(sep);
  return first !== '' && canonicalPath(root, first).kind === 'missing';
}

/** Every path of a call, as the caller wrote it. */
export function givenPaths({ touches }: CallMeaning): string[] {
  return touches.flatMap(pathsOfTouch);
}

/** Every path of a call, as the upstream resolves it. */
export function callPaths({ touches, place }: CallMeaning): string[] {
  const paths: string[] = [];
  for (const touch of touches) for (const path of pathsOfTouch(touch)) paths.push(place(path));
  return paths;
}

/** The changes a call will make, with paths as the upstream resolves them. */
export function callIntents({ touches, place }: CallMeaning): HostIntent[] {
  return touches.flatMap((touch): HostIntent[] => {
    if (touch.does !== 'change') return [];
    const { intent } = touch;
    if (intent.kind !== 'move') return [{ ...intent, path: place(intent.path) }];
    return [{ ...intent, source: place(intent.source), destination: place(intent.destination) }];
  });
}

/** The action of a call on a path. `path` is the path as the upstream resolves it. */
export function actionAt({ touches, place }: CallMeaning, path: string): Action {
  for (const touch of touches) {
    if (touch.does !== 'change' || !pathsOfTouch(touch).some((given) => place(given) === path)) continue;
    const { kind } = touch.intent;
    if (kind === 'write') return 'overwrite';
    return kind === 'touch' ? 'edit' : kind;
  }
  return 'read';
}

export function changes({ touches }: CallMeaning): boolean {
  return touches.some((touch) => touch.does === 'change');
}

export function reads({ touches }: CallMeaning): boolean {
  return touches.some((touch) => touch.does === 'read');
}

/** The paths of reads whose text may not prove which bytes it showed. */
export function unproven({ touches, guessed, place }: CallMeaning): string[] {
  return touches.flatMap((touch) =>
    touch.does === 'read' && (guessed || touch.shown.as === 'described') ? [place(touch.path)] : [],
  );
}

/**
 * The journal's name for a call that runs a command or has unknown effects. Undefined for any other
 * call.
 */
export function commandOf({ touches, unexplained }: CallMeaning, tool: string): string | undefined {
  const run = touches.find((touch) => touch.does === 'run');
  if (run !== undefined) return `${tool}: ${run.command}`;
  return unexplained ? tool : undefined;
}

/** True if the answer to a call must be recorded: it shows a file or a folder, or the call may change one. */
export function isRecorded({ touches, unexplained }: CallMeaning): boolean {
  return unexplained || looksOf(touches).length > 0 || touches.some(({ does }) => RECORDED.has(does));
}

const RECORDED: ReadonlySet<Touch['does']> = new Set(['change', 'read', 'list']);

/** True if a call only reads files, and its answer is their text. */
export function showsItself({ touches, unexplained }: CallMeaning): boolean {
  return !unexplained && touches.every((touch) => touch.does === 'read' && touch.shown.as !== 'described');
}
