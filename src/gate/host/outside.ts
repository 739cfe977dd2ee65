import { dirname } from 'node:path';
import { LIMITS } from '../../model/limits.ts';
import type { OutsidePaths } from '../../model/session.ts';
import type { AtRisk, RefusalOf } from '../../model/verdict.ts';
import { heldByGit } from '../../process/git-status.ts';
import { lastingFiles, type OutsideFile } from '../../process/own-files.ts';
import { countOf } from '../../report/amounts.ts';
import { isOutput } from '../outputs.ts';
import { reachOutside } from '../outside.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { MAX_FILE_BYTES } from './keep.ts';
import { isOwnWork } from './own-work.ts';

/** Time limit for git, in milliseconds. */
const GIT_MS = 3_000;
/** With more lost files in one folder, a refusal names only the folder. */
const MAX_NAMED = 5;

/**
 * The refusal of a line that would destroy lasting files outside the workspace which exist nowhere
 * else; undefined if there are none. Lets the gate reach these files.
 */
export async function outsideAtRisk(
  scene: ShownScene,
  { destroyed }: OutsidePaths,
): Promise<RefusalOf<'WOULD_DESTROY'> | undefined> {
  const found = destroyed.map((each) => ({ ...each, files: lastingFiles(each.path, each) }));
  const isMany = found.some(({ files }) => files === 'many');
  const files = await onlyHere(
    scene,
    found.flatMap(({ path, whole, files }) =>
      files === 'many' ? [] : files.map((file) => ({ ...file, removed: whole ? path : undefined })),
    ),
  );
  if (files.length === 0 && !isMany) return undefined;
  const many = found
    .filter((each) => each.files === 'many')
    .map(({ path }) => folderItem(path, 'thousands of files'));
  const atRisk = [...many, ...itemsOf(files)];
  const isKept = !isMany && canKeep(scene.world, files);
  const count = isMany ? 'thousands of files' : countOf(files.length, 'file');
  const reason = `it would destroy ${count} outside the workspace${isKept ? '' : ', which cannot be kept'}`;
  return {
    code: 'WOULD_DESTROY',
    action: 'run',
    path: '',
    next: isKept ? 'repeat' : 'ask_human',
    detail: { reason, atRisk },
  };
}

interface LostFile extends OutsideFile {
  /** The folder that is removed with everything in it. */
  readonly removed: string | undefined;
}

/** The files whose bytes are in no commit that stays and that this session did not make. */
async function onlyHere(scene: ShownScene, files: readonly LostFile[]): Promise<readonly LostFile[]> {
  const { world } = scene;
  const held = await heldByGit(
    files.map(({ path }) => path),
    AbortSignal.timeout(GIT_MS),
  );
  const found: LostFile[] = [];
  for (const file of files) {
    const { path, removed } = file;
    const state = held.get(path);
    const isGone =
      removed !== undefined &&
      files.some((each) => each.removed === removed && /\/\.git(\/|$)/.test(each.path));
    if (!isGone && (state === 'commit' || state === 'index')) continue;
    if (state === 'ignored' && isOutput(world, path.slice(1))) continue;
    if (!(reachOutside(world, path) && (await isOwnWork(scene, path)))) found.push(file);
  }
  return found;
}

function canKeep({ workspace }: World, files: readonly LostFile[]): boolean {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  return (
    total <= LIMITS.keptBeforeCommandBytes &&
    files.every(({ path, size }) => size <= MAX_FILE_BYTES && workspace.resolve(path, 'undo').ok)
  );
}

function itemsOf(files: readonly LostFile[]): readonly AtRisk[] {
  const folders = new Map<string, readonly LostFile[]>();
  for (const file of files) {
    const folder = file.removed ?? dirname(file.path);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders].flatMap(([folder, inside]) =>
    inside.length > MAX_NAMED
      ? [folderItem(folder, countOf(inside.length, 'file'))]
      : inside.map(({ path }): AtRisk => ({ what: path, kind: 'file', reason: 'outside the workspace' })),
  );
}

function folderItem(what: string, count: string): AtRisk {
  return { what, kind: 'folder', reason: `${count} outside the workspace` };
}
