import { isRecord } from '../model/record.ts';
import { lineCount } from '../text/lines.ts';
import type { Access, ReadAccess, SearchAccess, WriteAccess } from './access.ts';
import { type JsonRecord, objectsIn, parseJson, stringIn } from './json-value.ts';
import { askedLines } from './line-arguments.ts';
import { patchedFiles } from './patch-text.ts';
import { enterDirectory } from './paths.ts';
import { commandIn, shellRead } from './shell-read.ts';
import { shownText } from './shown-text.ts';
import { type ToolKind, toolKind } from './tool-kind.ts';

/** A tool call of a transcript, in no host's words. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** An object, or the JSON text of one. */
  readonly args: unknown;
  /** Working directory of that moment. */
  readonly cwd?: string | undefined;
  readonly atMs?: number | undefined;
  /** The message the call is part of, where messages have names. */
  readonly message?: string | undefined;
}

/** Finds the absolute path; undefined if it cannot be told. */
export type Locate = (given: string, cwd: string | undefined) => string | undefined;

/** What a call touches, as far as its arguments tell. Empty for tools that show no file and for calls we cannot be sure of. */
export function accessesOf(call: ToolCall, cwd: string | undefined, locate: Locate): readonly Access[] {
  const kind = toolKind(call.name);
  if (kind === undefined) return [];
  const args = argumentsOf(call.args, kind);
  return args === undefined ? [] : accessesByKind(kind, { args, cwd, locate });
}

interface Scene {
  readonly args: JsonRecord;
  readonly cwd: string | undefined;
  readonly locate: Locate;
}

function accessesByKind(kind: ToolKind, scene: Scene): readonly Access[] {
  switch (kind) {
    case 'read':
    case 'read-numbered':
    case 'read-raw':
      return readAccess(scene, kind === 'read' ? 'auto' : kind === 'read-raw' ? 'raw' : 'numbered');
    case 'read-many':
      return manyReads(scene);
    case 'write':
      return writeAccess(scene, pathIn(scene.args), contentIn(scene.args));
    case 'edit':
      return editAccess(scene, pathIn(scene.args));
    case 'batch':
      return batchAccesses(scene);
    case 'text-editor':
      return editorAccess(scene);
    case 'patch':
      return patchAccesses(scene);
    case 'shell':
      return shellAccess(scene);
    case 'search':
      return searchAccess(scene);
    default:
      return kind satisfies never;
  }
}

/** A patch may come as bare text instead of an object. */
function argumentsOf(args: unknown, kind: ToolKind): JsonRecord | undefined {
  if (isRecord(args)) return args;
  if (typeof args !== 'string') return undefined;
  const parsed = parseJson(args);
  if (isRecord(parsed)) return parsed;
  return kind === 'patch' ? { input: args } : undefined;
}

const PATH_NAMES = ['path', 'file_path', 'filePath', 'absolute_path', 'target_file', 'filename', 'file'];

function pathIn(args: JsonRecord): string | undefined {
  for (const name of PATH_NAMES) {
    const path = stringIn(args, name);
    if (path !== undefined) return path;
  }
  return undefined;
}

function contentIn(args: JsonRecord): string | undefined {
  return stringIn(args, 'content') ?? stringIn(args, 'contents') ?? stringIn(args, 'file_text');
}

function readAccess(scene: Scene, body: ReadAccess['body']): readonly Access[] {
  const given = pathIn(scene.args);
  const path = given === undefined ? undefined : scene.locate(given, scene.cwd);
  if (given === undefined || path === undefined) return [];
  const asked = askedLines(scene.args);
  const all = asked.from === undefined && asked.to === undefined;
  return [all ? { kind: 'read', path, given, body } : { kind: 'read', path, given, body, ...asked }];
}

/** The parts of such a result can be forged by a file's content, so only our receipts tell them apart. */
function manyReads(scene: Scene): readonly Access[] {
  const paths = scene.args['paths'];
  if (!Array.isArray(paths)) return [];
  return paths.flatMap((given): Access[] => {
    const path = typeof given === 'string' ? scene.locate(given, scene.cwd) : undefined;
    return path === undefined ? [] : [{ kind: 'read', path, given, body: 'receipt' }];
  });
}

function writeAccess(
  scene: Scene,
  given: string | undefined,
  content: string | undefined,
): readonly Access[] {
  if (given === undefined || content === undefined || scene.args['append'] === true) return [];
  const path = scene.locate(given, scene.cwd);
  if (path === undefined) return [];
  const lines = lineCount(content);
  const shown = shownText(content, { from: 1, to: lines });
  const access: WriteAccess = { kind: 'write', path, given, lines, shown };
  return [access];
}

function editAccess(scene: Scene, given: string | undefined): readonly Access[] {
  const dry = scene.args['dryRun'] === true || scene.args['dry_run'] === true;
  const path = given === undefined || dry ? undefined : scene.locate(given, scene.cwd);
  return path === undefined || given === undefined ? [] : [{ kind: 'edit', path, given }];
}

function batchAccesses(scene: Scene): readonly Access[] {
  if (scene.args['dry_run'] === true) return [];
  return objectsIn(scene.args, 'changes').flatMap((change) => {
    const path = stringIn(change, 'path');
    const content = stringIn(change, 'content');
    if (content !== undefined) return writeAccess(scene, path, content);
    return Array.isArray(change['edits']) ? editAccess(scene, path) : [];
  });
}

function editorAccess(scene: Scene): readonly Access[] {
  switch (scene.args['command']) {
    case 'view':
      return readAccess(scene, 'numbered');
    case 'create':
      return writeAccess(scene, pathIn(scene.args), contentIn(scene.args));
    case 'str_replace':
    case 'insert':
      return editAccess(scene, pathIn(scene.args));
    default:
      return [];
  }
}

function patchAccesses(scene: Scene): readonly Access[] {
  const { args } = scene;
  const patch = stringIn(args, 'input') ?? stringIn(args, 'patch') ?? stringIn(args, 'command');
  return patchedFiles(patch ?? '').flatMap((file) =>
    file.added === undefined ? editAccess(scene, file.path) : writeAccess(scene, file.path, file.added),
  );
}

function shellAccess(scene: Scene): readonly Access[] {
  const { args } = scene;
  const command = commandIn(args);
  const read = command === undefined || args['run_in_background'] === true ? undefined : shellRead(command);
  if (read === undefined) return [];
  const place = stringIn(args, 'workdir') ?? stringIn(args, 'cwd') ?? stringIn(args, 'dir_path');
  const path = scene.locate(read.path, enterDirectory(scene.cwd, place));
  if (path === undefined) return [];
  const { path: given, from, to } = read;
  const body = read.numbered ? 'numbered' : 'raw';
  const access = { kind: 'read', path, given, body, shell: true, from } as const;
  return [to === undefined ? access : { ...access, to }];
}

function searchAccess(scene: Scene): readonly Access[] {
  const given = stringIn(scene.args, 'path') ?? stringIn(scene.args, 'dir_path');
  const target = given === undefined ? undefined : scene.locate(given, scene.cwd);
  const base = scene.locate('.', scene.cwd);
  if (base === undefined) return [];
  const access: SearchAccess = { kind: 'search', base, ...(target === undefined ? {} : { target }) };
  return [access];
}
