import { dirname, join, relative, resolve } from 'node:path';
import { patchIntents } from '../../dialect/calls/patch.ts';
import type { Destroyed } from '../../dialect/calls/shell/destroyed.ts';
import type { ShellWrite } from '../../dialect/calls/shell/effects.ts';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import { inFolder } from '../../dialect/calls/shell/words.ts';
import { settingsFileAt } from '../../dialect/clients/settings-files.ts';
import { bytesOfSmall } from '../../disk/content.ts';
import { type HostIntent, locatedIntent } from '../../model/intent.ts';
import type { ResolvedPath } from '../../model/path.ts';
import { defined } from '../../model/record.ts';
import type { Action } from '../../model/verdict.ts';
import { entryAt, pathsBelow } from '../../process/own-files.ts';
import type { Found, Located } from '../../workspace/workspace.ts';
import { MAX_SETTINGS_BYTES } from '../guarded-files.ts';
import type { World } from '../world.ts';

/** A change that a shell line certainly makes, and how it is judged. */
export interface ShellChange {
  readonly intent: HostIntent;
  /**
   * `edit`: the session must have seen some of the file; the result is checked later. `replace`: the
   * session must have seen all of the file, or written its present content. `destroy`: the same, but
   * only if the bytes exist nowhere else.
   */
  readonly how: 'edit' | 'replace' | 'destroy';
  /** True if git's index loses the content of the file too. */
  readonly unstages?: true;
  /** True if a folder is removed with everything in it. */
  readonly whole?: true;
}

/** The folder where relative paths of a line start, and the session's form of its paths. */
export interface LinePlace {
  /** An absolute folder. */
  readonly cwd: string;
  at(path: string): string;
}

/** The changes that a line certainly makes, as changes that the gate can judge. */
export async function changesOfLine(
  world: World,
  line: ShellLine,
  place: LinePlace,
): Promise<readonly ShellChange[]> {
  const changes = [...writingChanges(world, line, place)];
  for (const destroyed of line.destroys()) {
    const names = destroyed.certain ? await world.processes.namesOf(destroyed.files, place.cwd) : [];
    changes.push(...names.map((name) => destroyingChange(destroyed, place.at(name))));
  }
  return changes;
}

function writingChanges(world: World, line: ShellLine, place: LinePlace): readonly ShellChange[] {
  const changes: ShellChange[] = [];
  // A path that an earlier command of the line has moved away or written holds no other bytes any more.
  const done = new Set<string>();
  for (const write of line.writes().filter(({ certain }) => certain)) {
    const how = write.how === 'edit' || write.how === 'append' ? 'edit' : 'replace';
    const intents = intentsOf(world, write, { line, at: place.at }).filter(
      (intent) => !done.has(pathOf(intent)),
    );
    changes.push(...intents.map((intent) => ({ intent, how }) as const));
    if (write.how === 'copy') changes.push(...treeCopies(world, write, place));
    if (how === 'replace') for (const intent of intents) done.add(pathOf(intent));
    if (write.how === 'move') done.add(place.at(write.source));
  }
  return changes;
}

function pathOf(intent: HostIntent): string {
  return intent.kind === 'move' ? intent.destination : intent.path;
}

/** Converts a write of a shell command to changes that the gate can judge. */
function intentsOf(
  world: World,
  write: ShellWrite,
  { line, at }: Pick<LinePlace, 'at'> & { readonly line: ShellLine },
): readonly HostIntent[] {
  switch (write.how) {
    case 'append':
      return [{ kind: 'insert', path: at(write.path), content: write.content ?? '' }];
    case 'overwrite': {
      const { content } = write;
      const path = at(write.path);
      if (content !== undefined) return [{ kind: 'write', path, content }];
      // A program such as `cat` may write what another file of the line holds.
      const others =
        settingsFileAt(path) === undefined ? [] : line.names().filter((name) => at(name) !== path);
      const contents = others.flatMap((name) => smallFileAt(world, at(name)) ?? []);
      return [
        { kind: 'touch', path },
        ...contents.map((each) => ({ kind: 'write', path, content: each }) as const),
      ];
    }
    case 'edit':
      return [{ kind: 'touch', path: at(write.path), lines: [] }];
    case 'copy':
    case 'move': {
      const path = targetOf(world, at(write.path), write.source);
      const content = settingsFileAt(path) === undefined ? undefined : smallFileAt(world, at(write.source));
      return [content === undefined ? { kind: 'touch', path } : { kind: 'write', path, content }];
    }
    case 'patch':
      return patchIntents(write.patch).map((intent) =>
        locatedIntent((path) => at(inFolder(write.folder, path) ?? path), intent),
      );
    default:
      return write satisfies never;
  }
}

/** The bytes of a file of the workspace. Undefined if they cannot be read, or are too many for settings. */
function smallFileAt({ workspace }: World, path: string): Uint8Array | undefined {
  const read = (located: Located): Uint8Array | undefined => {
    const isFile = located.exists && located.stats.isFile();
    const bytes = isFile ? bytesOfSmall(located.place, MAX_SETTINGS_BYTES) : undefined;
    return bytes === 'too-large' ? undefined : bytes;
  };
  return workspace.atOnce({ path, action: 'status', links: 'all' }, read, () => undefined);
}

/** The files that a copy of a folder replaces: those that have the same names in the target. */
function treeCopies(
  world: World,
  { source, path }: { readonly source: string; readonly path: string },
  { at, cwd }: LinePlace,
): readonly ShellChange[] {
  const [from, to] = [resolve(cwd, source), targetOf(world, at(path), source)];
  if (entryAt(from)?.kind !== 'folder' || statsAt(world, to, 'all')?.isDirectory() !== true) return [];
  return pathsBelow(from, () => false)
    .map((each) => relative(from, each))
    .filter((name) => entryAt(join(resolve(cwd, to), name))?.kind === 'file')
    .map((name) => ({ intent: { kind: 'touch', path: join(to, name) }, how: 'destroy' }));
}

/** The file that a copy or move writes. If the target is a folder, the file keeps its base name there. */
function targetOf(world: World, path: string, source: string): string {
  const isFolder = path.endsWith('/') || statsAt(world, path, 'all')?.isDirectory() === true;
  const name = source.replace(/\/+$/, '').split('/').at(-1) ?? source;
  return isFolder ? `${path.replace(/\/+$/, '')}/${name}` : path;
}

function destroyingChange({ how, unstages, whole }: Destroyed, path: string): ShellChange {
  const intent: HostIntent =
    how === 'remove'
      ? { kind: 'delete', path }
      : { kind: 'touch', path, ...(how === 'edit' ? { lines: [] } : {}) };
  return { intent, how: 'destroy', ...defined({ unstages, whole }) };
}

/** The stats of what is at a path. Undefined if nothing is there, or if the session may not look at it. */
export function statsAt(
  { workspace }: World,
  path: string,
  links: 'all' | 'parents',
): Found['stats'] | undefined {
  const resolved = workspace.resolve(path, 'status', links);
  return resolved.ok && resolved.exists ? resolved.stats : undefined;
}

/**
 * Names paths that an action may change, and checks each folder only once. Undefined for a path that
 * is protected, outside the workspace, or behind a link.
 */
export function changeablePaths(
  { workspace }: World,
  action: Action,
): (path: string) => ResolvedPath | undefined {
  const folders = new Map<string, boolean>();
  return (path) => {
    const named = workspace.pathOf(path);
    if (named === undefined || workspace.isRoot(named)) return undefined;
    const folder = dirname(named.key);
    if (!folders.has(folder)) {
      const found = workspace.resolve(folder, 'status');
      folders.set(folder, found.ok && found.path.key === folder);
    }
    const isFree = workspace.protectsFrom(named, action) === undefined && !workspace.isReadOnly(named.key);
    return isFree && folders.get(folder) === true ? named : undefined;
  };
}
