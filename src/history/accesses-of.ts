import type { Answer } from '../dialect/calls/answer.ts';
import { usualRules } from '../dialect/calls/hosts/usual.ts';
import { touchesOf } from '../dialect/calls/interpret.ts';
import { PRINTS_FILES } from '../dialect/calls/shell/printed-lines.ts';
import { recordedLine } from '../dialect/calls/shell/shell-line.ts';
import { readText } from '../dialect/calls/shown/read-text.ts';
import { changedRevision } from '../dialect/calls/shown/receipt.ts';
import type { Rule } from '../dialect/calls/table.ts';
import type { ReadTouch, RunTouch, Touch } from '../dialect/calls/touch.ts';
import { linesCoverage, WHOLE } from '../model/coverage.ts';
import type { HostIntent } from '../model/intent.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import { lineCount } from '../text/lines.ts';
import { bareView, type ShownText, shownText, shownView, type TranscriptView } from './history-sighting.ts';
import { enterDirectory } from './paths.ts';
import type { RecordedResult } from './tool-result.ts';

/** A tool call of a transcript, in a form that is independent of the host. */
export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as an object, or as the JSON text of an object. */
  readonly args: unknown;
  /** Working directory at the time of the call. */
  readonly cwd?: string | undefined;
  readonly atMs?: number | undefined;
  /** Id of the message that contains the call, if messages have ids. */
  readonly message?: string | undefined;
}

/** Returns the absolute path of `given`; undefined if it cannot be determined. */
type Locate = (given: string, cwd: string | undefined) => string | undefined;

/**
 * The reads, writes, edits and searches of files that a call makes if it succeeds. Empty for
 * unknown tools, and for calls whose effect is uncertain.
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

/**
 * The arguments of a call as an object; undefined if they have another form. A patch in plain text
 * becomes the argument `input`.
 */
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

function changeAccess(intent: HostIntent, scene: Scene, all: readonly Touch[]): readonly Access[] {
  switch (intent.kind) {
    case 'write':
      return writeAccess(intent.path, intent.content, scene);
    case 'edit':
    case 'touch':
      return editAccess(movedTo(intent.path, all), scene);
    case 'insert':
      // An insert without `afterLine` appends. This does not show that the model knows any line of
      // the file.
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

/** The new path of a file if the call also moves it; otherwise `path`. */
function movedTo(path: string, all: readonly Touch[]): string {
  for (const touch of all)
    if (touch.does === 'change' && touch.intent.kind === 'move' && touch.intent.source === path)
      return touch.intent.destination;
  return path;
}

function commandAccess({ command, folder, background }: RunTouch, scene: Scene): readonly Access[] {
  // Most commands show no file in a known form: do not parse them.
  const mayShow = background !== true && PRINTS_FILES.test(command);
  const read = mayShow ? recordedLine(command).read() : undefined;
  return read === undefined ? [] : readAccess(read, { ...scene, cwd: enterDirectory(scene.cwd, folder) });
}

function searchAccess(given: string | undefined, scene: Scene): readonly Access[] {
  const target = given === undefined ? undefined : scene.locate(given, scene.cwd);
  const base = scene.locate('.', scene.cwd);
  if (base === undefined) return [];
  return [target === undefined ? { kind: 'search', base } : { kind: 'search', base, target }];
}

/**
 * One effect of a call that waits for its result. Holds no contents, because many calls may wait.
 */
export type Access = ReadAccess | WriteAccess | EditAccess | SearchAccess;

interface ReadAccess {
  readonly kind: 'read';
  /** Absolute path. */
  readonly path: string;
  readonly touch: ReadTouch;
}

interface WriteAccess {
  readonly kind: 'write';
  readonly path: string;
  /** The path as the agent wrote it in the call. Results of Lookfirst's tools repeat it. */
  readonly given: string;
  readonly lines: number;
  readonly shown: ShownText;
}

interface EditAccess {
  readonly kind: 'edit';
  readonly path: string;
  readonly given: string;
}

interface SearchAccess {
  readonly kind: 'search';
  /** The folder to which the paths in result lines are relative. */
  readonly base: string;
  /** The searched file, if the call names a single file. Result lines may then omit its name. */
  readonly target?: string;
}

/**
 * The beginnings of result texts that report a successful change, for hosts without a success flag.
 */
const DONE =
  /^(?:wrote \d|replaced \d|inserted|applied|created|updated|deleted|success|the file .{1,4096} has been|file (?:created|written|saved))/i;

/**
 * Maximum number of lines that are read of one search result. Later lines do not count as seen.
 * Most results have fewer.
 */
const MAX_HITS = 2000;
const HIT = /^(.+?):(\d{1,9}):(.*)$/;
/** A result line without a file name (`12:text`), from a search in a single file. */
const BARE_HIT = /^(\d{1,9}):(.*)$/;

interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/**
 * The lines that one access of a successful call showed, by file. For an edit whose old text is
 * known, use `carriedView` instead.
 */
export function viewsOf(access: Access, result: RecordedResult, locate: Locate): readonly TranscriptView[] {
  switch (access.kind) {
    case 'read': {
      const { touch, path } = access;
      const lines = readText(touch, answerOf(result), [touch.path, path]);
      return lines === undefined ? [] : [shownView(path, lines)];
    }
    case 'search':
      return result.flagged ? searchViews(access, result, locate) : [];
    case 'write':
      return isDone(result) ? [writeView(access, result)] : [];
    case 'edit':
      return isDone(result) ? [editView(access, result)] : [];
    default:
      return access satisfies never;
  }
}

function answerOf({ text, ...answer }: RecordedResult): Answer {
  return { ...answer, texts: text === undefined ? undefined : [text] };
}

function isDone(result: RecordedResult): boolean {
  return result.flagged || result.done === true || DONE.test(result.text ?? '');
}

function writeView(access: WriteAccess, result: RecordedResult): TranscriptView {
  const { sha256, size } = access.shown;
  return {
    path: access.path,
    coverage: WHOLE,
    totalLines: access.lines,
    shown: [access.shown],
    fingerprint: { sha256, size },
    ...revisionOf(access, result),
    how: 'write',
    clamped: false,
    redacted: false,
  };
}

/**
 * The lines that count as seen after an edit: all lines if the result contains a revision,
 * otherwise none. Lookfirst's tools return a revision only if the session has seen the whole file
 * as it is now.
 */
function editView(access: EditAccess, result: RecordedResult): TranscriptView {
  const revision = revisionOf(access, result);
  const coverage = revision.revision === undefined ? {} : { coverage: WHOLE };
  return bareView(access.path, { how: 'edit', ...coverage, ...revision });
}

function revisionOf(access: WriteAccess | EditAccess, result: RecordedResult): { revision?: string } {
  const revision = result.revision ?? changedRevision(result.text ?? '', access.given);
  return revision === undefined ? {} : { revision };
}

/**
 * The matching lines that a search showed, by file. Only result lines of the form `path:line:text`
 * count, or `line:text` for a search in one file. Other forms may not show the whole line.
 */
function searchViews(
  access: SearchAccess,
  result: RecordedResult,
  locate: Locate,
): readonly TranscriptView[] {
  const files = new Map<string, Hit[]>();
  for (const line of (result.text ?? '').split('\n', MAX_HITS)) {
    const hit = hitOf(line, access, locate);
    if (hit === undefined) continue;
    const hits = files.get(hit.path);
    if (hits === undefined) files.set(hit.path, [hit]);
    else hits.push(hit);
  }
  return [...files].map(([path, hits]) => ({
    path,
    coverage: linesCoverage(hits.map(lineOf), Number.POSITIVE_INFINITY),
    shown: hits.map((hit) => shownText(hit.text, lineOf(hit))),
    how: 'search' as const,
    clamped: false,
    redacted: false,
  }));
}

function hitOf(line: string, access: SearchAccess, locate: Locate): Hit | undefined {
  const [, bare, bareText] = access.target === undefined ? [] : (BARE_HIT.exec(line) ?? []);
  if (bare !== undefined && bareText !== undefined && access.target !== undefined)
    return { path: access.target, line: Number(bare), text: bareText };
  const [, given, number, text] = HIT.exec(line) ?? [];
  const path = given === undefined ? undefined : locate(given, access.base);
  return path === undefined || text === undefined ? undefined : { path, line: Number(number), text };
}

function lineOf(hit: Hit): { from: number; to: number } {
  return { from: hit.line, to: hit.line };
}
