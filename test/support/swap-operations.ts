import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { DiskContext } from '../../src/disk/context.ts';
import { makeOneFolder, removeFolder } from '../../src/disk/folders.ts';
import { listNames } from '../../src/disk/list.ts';
import { move } from '../../src/disk/move.ts';
import { readPage } from '../../src/disk/page.ts';
import { fingerprintOf, readSnapshot } from '../../src/disk/read.ts';
import { remove, removeLink } from '../../src/disk/remove.ts';
import { create, replace } from '../../src/disk/replace.ts';
import { at, type Place } from '../../src/model/path.ts';
import type { Action } from '../../src/model/verdict.ts';
import type { Located, Workspace } from '../../src/workspace/workspace.ts';

export const INSIDE: Buffer = Buffer.from('inside\n');
export const OUTSIDE: Buffer = Buffer.from('beyond\n');
const WRITTEN = Buffer.from('written\n');

/**
 * The result of one try. `served`: the operation was done inside the root. `refused`: it was not
 * done. `escaped`: it showed content from outside the root. The caller finds changes outside by
 * comparing the outside folder.
 */
export type Attempt = 'served' | 'refused' | 'escaped';

export interface Victim {
  readonly root: string;
  readonly workspace: Workspace;
  readonly context: DiskContext;
}

/**
 * One operation in the folder `a/b/c`. `attempt` does it with the code under test, `naive` with
 * simple code that an attacker can fool.
 */
export interface SwapOperation {
  readonly name: string;
  attempt(victim: Victim): Promise<Attempt>;
  /** Works by path in `folder`. The caller has just checked that the folder is inside the root. */
  naive(folder: string): Attempt | undefined;
}

export const SWAP_OPERATIONS: readonly SwapOperation[] = [
  {
    name: 'read',
    attempt: (victim) =>
      below(victim, 'read', 'f.txt', async (located) => {
        const seen = located.exists ? { seen: located.stats } : {};
        const read = await readSnapshot(located.place, { clock: victim.context.clock, ...seen });
        return 'problem' in read ? 'refused' : shown(read.bytes);
      }),
    naive: (folder) => shown(readFileSync(join(folder, 'f.txt'))),
  },
  {
    name: 'read without a known stat',
    attempt: (victim) =>
      below(victim, 'read', 'f.txt', async ({ place }) => {
        const read = await readSnapshot(place, { clock: victim.context.clock });
        return 'problem' in read ? 'refused' : shown(read.bytes);
      }),
    naive: (folder) => shown(readFileSync(join(folder, 'f.txt'))),
  },
  {
    name: 'page',
    attempt: (victim) =>
      below(victim, 'read', 'f.txt', async ({ place }) => {
        const range = { clock: victim.context.clock, from: 1, limit: 1, maxLineBytes: 100 };
        const page = await readPage(place, range);
        return 'problem' in page ? 'refused' : shown(page.lines[0] ?? INSIDE);
      }),
    naive: (folder) => shown(readFileSync(join(folder, 'f.txt'))),
  },
  {
    name: 'list',
    attempt: (victim) =>
      below(victim, 'list', 'x', async ({ place }) => listed(listNames(place.dir).map(({ name }) => name))),
    naive: (folder) => listed(readdirSync(folder)),
  },
  {
    name: 'create',
    attempt: (victim) =>
      below(victim, 'create', 'new', async ({ place }) => {
        const made = await create(victim.context, place, { bytes: WRITTEN });
        if (made.ok) unlinkSync(at(place));
        return made.ok ? 'served' : 'refused';
      }),
    naive: (folder) => {
      const path = join(folder, 'new');
      writeFileSync(path, WRITTEN);
      unlinkSync(path);
      return undefined;
    },
  },
  {
    name: 'replace',
    attempt: (victim) =>
      below(victim, 'overwrite', 'w.txt', async ({ place }) => {
        const change = { bytes: INSIDE, expected: { fingerprint: fingerprintOf(INSIDE) } };
        const done = await replace(victim.context, place, change);
        if (done.ok && done.displaced !== undefined) unlinkSync(done.displaced);
        return done.ok ? 'served' : 'refused';
      }),
    naive: (folder) => {
      const temp = join(folder, 'temp');
      writeFileSync(temp, INSIDE);
      renameSync(temp, join(folder, 'w.txt'));
      return undefined;
    },
  },
  {
    name: 'remove',
    attempt: (victim) =>
      below(victim, 'delete', 'r.txt', async ({ place, exists }) => {
        if (!exists) writeFileSync(at(place), INSIDE, { flag: 'wx' });
        const done = await remove(victim.context, place, { fingerprint: fingerprintOf(INSIDE) });
        if (done.ok && done.displaced !== undefined) unlinkSync(done.displaced);
        return done.ok ? 'served' : 'refused';
      }),
    naive: (folder) => {
      const path = join(folder, 'r.txt');
      unlinkSync(path);
      writeFileSync(path, INSIDE, { flag: 'wx' });
      return undefined;
    },
  },
  {
    name: 'remove a link',
    attempt: (victim) =>
      below(victim, 'delete', 'link', async ({ place, exists }) => {
        if (!exists) symlinkSync('f.txt', at(place));
        return (await removeLink(victim.context, place, 'f.txt')).ok ? 'served' : 'refused';
      }),
    naive: (folder) => {
      const path = join(folder, 'link');
      unlinkSync(path);
      symlinkSync('f.txt', path);
      return undefined;
    },
  },
  {
    name: 'move away',
    attempt: (victim) => moved(victim, 'a/b/c/m.txt', 'safe/m.txt'),
    naive: (folder) => {
      renameSync(join(folder, 'm.txt'), join(folder, 'moved'));
      renameSync(join(folder, 'moved'), join(folder, 'm.txt'));
      return undefined;
    },
  },
  {
    name: 'move here',
    attempt: (victim) => moved(victim, 'safe/h.txt', 'a/b/c/h.txt'),
    naive: (folder) => {
      linkSync(join(folder, '../../../safe/x.txt'), join(folder, 'x.txt'));
      unlinkSync(join(folder, 'x.txt'));
      return undefined;
    },
  },
  {
    name: 'make a folder',
    attempt: (victim) =>
      below(victim, 'mkdir', 'd', async (located) => {
        if (located.exists) return 'refused';
        await makeOneFolder(victim.context, located.place);
        await removeFolder(victim.context, located.place);
        return 'served';
      }),
    naive: (folder) => {
      mkdirSync(join(folder, 'd'));
      rmdirSync(join(folder, 'd'));
      return undefined;
    },
  },
  {
    name: 'remove a folder',
    attempt: (victim) =>
      below(victim, 'delete', 'empty', async ({ place, exists }) => {
        if (!exists) mkdirSync(at(place));
        return (await removeFolder(victim.context, place)) ? 'served' : 'refused';
      }),
    naive: (folder) => {
      rmdirSync(join(folder, 'empty'));
      mkdirSync(join(folder, 'empty'));
      return undefined;
    },
  },
];

/**
 * Creates a tree of which the attacker swaps parts. The trees inside and outside the root contain
 * the same names, so that an operation outside does not fail because of a missing name.
 */
export function makeVictimTree(folder: string, bytes: Buffer, mark: string): void {
  mkdirSync(join(folder, 'c/empty'), { recursive: true });
  for (const name of ['f.txt', 'm.txt']) writeFileSync(join(folder, 'c', name), bytes);
  for (const name of ['w.txt', 'r.txt']) writeFileSync(join(folder, 'c', name), INSIDE);
  writeFileSync(join(folder, 'c', mark), '');
  symlinkSync('f.txt', join(folder, 'c/link'));
}

async function below(
  victim: Victim,
  action: Action,
  name: string,
  work: (located: Located) => Promise<Attempt>,
): Promise<Attempt> {
  const outcome = victim.workspace.locate(`a/b/c/${name}`, action, action === 'delete' ? 'parents' : 'all');
  if (!outcome.ok) return 'refused';
  try {
    return await work(outcome.located);
  } finally {
    outcome.located.place.dir.close();
  }
}

async function moved(victim: Victim, one: string, other: string): Promise<Attempt> {
  const places: Place[] = [];
  try {
    for (const path of [one, other]) {
      const outcome = victim.workspace.locate(path, 'move', 'parents');
      if (!outcome.ok) return 'refused';
      places.push(outcome.located.place);
    }
    const [from, to] = places;
    if (from === undefined || to === undefined) return 'refused';
    const away = lstatSync(at(from), { throwIfNoEntry: false }) === undefined;
    const done = await (away ? move(victim.context, to, from) : move(victim.context, from, to));
    return done.ok ? 'served' : 'refused';
  } finally {
    for (const place of places) place.dir.close();
  }
}

function shown(bytes: Uint8Array): Attempt {
  return OUTSIDE.equals(bytes) ? 'escaped' : 'served';
}

function listed(names: readonly string[]): Attempt {
  return names.includes('outside-mark') ? 'escaped' : 'served';
}
