import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type DiskContext, openDisk } from '../../src/disk/context.ts';
import { fingerprintOf } from '../../src/disk/read.ts';
import type { Committed } from '../../src/disk/replace.ts';
import { type Conflict, replace } from '../../src/disk/replace.ts';
import type { Place } from '../../src/model/path.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { makeTree, type Scratch, scratch } from './tree.ts';

/** A step of one change on disk, at which a test can fail or act. */
export type CommitStep = Parameters<NonNullable<DiskContext['trace']>>[0];

/** A separate workspace and the objects needed to change it. */
export interface Bench extends Scratch {
  readonly workspace: Workspace;
  readonly context: DiskContext;
  /**
   * Opens the folder of a path, which must exist. Returns the name in the open folder. The folder
   * is closed after the test.
   */
  place(path: string, links?: 'all' | 'parents'): Place;
  /** The text of a file below the root. */
  text(path: string): string;
  /** Names in a folder below the root, including our temporary ones. */
  names(path?: string): string[];
  /** Texts of all replaced or removed files that the state folder keeps. */
  retained(): string[];
}

/** Makes a tree and opens it. Files are not synced, unless a test sets a durability. */
export function bench(
  tree: readonly string[],
  options: Partial<Parameters<typeof openDisk>[0]> = {},
  places: Scratch = scratch(),
): Bench {
  makeTree(places, tree);
  const workspace = Workspace.open([places.root]);
  const context = openDisk({ home: places.home, owner: 'us', durability: 'none', ...options });
  onTestFinished(async () => {
    await context.close();
    workspace.close();
  });
  return {
    ...places,
    workspace,
    context,
    place: (path, links = 'all') => {
      const outcome = workspace.locate(path, 'status', links);
      if (!outcome.ok) throw new Error(`${path}: ${outcome.refusal.code}`);
      onTestFinished(() => outcome.located.place.dir.close());
      return outcome.located.place;
    },
    text: (path) => readFileSync(join(places.root, path), 'utf8'),
    names: (path = '.') => readdirSync(join(places.root, path)).sort(),
    retained: () => {
      const folder = join(options.home ?? places.home, 'retained');
      return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    },
  };
}

/** The bytes of a text and their fingerprint. */
export function holding(text: string): { fingerprint: ReturnType<typeof fingerprintOf>; bytes: Buffer } {
  const bytes = Buffer.from(text);
  return { fingerprint: fingerprintOf(bytes), bytes };
}

/** Lets other users write to the workspace and the state folder. */
export function openToAll(disk: Bench): void {
  const folders = [disk.base, disk.root, disk.home, join(disk.home, 'retained')];
  for (const folder of folders) chmodSync(folder, 0o777);
}

/** Replaces a file. */
export async function put(disk: Bench, path: string, text = 'new', expected = 'old'): Promise<Committed> {
  const done = await replace(disk.context, disk.place(path), {
    bytes: Buffer.from(text),
    expected: holding(expected),
  });
  if (!done.ok) throw new Error(done.reason);
  return done;
}

/**
 * Tries to replace a file and returns the conflict that prevents it. Fails if the file is replaced.
 */
export async function tried(disk: Bench, path: string, expected = 'old'): Promise<Conflict> {
  const done = await replace(disk.context, disk.place(path), {
    bytes: Buffer.from('new'),
    expected: holding(expected),
  });
  if (done.ok) throw new Error('replaced');
  return done;
}
