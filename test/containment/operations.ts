import {
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DiskContext } from '../../src/disk/context.ts';
import { makeOneFolder, removeFolder } from '../../src/disk/folders.ts';
import { inspect, listNames } from '../../src/disk/list.ts';
import { move } from '../../src/disk/move.ts';
import { readPage } from '../../src/disk/page.ts';
import { fingerprintOf, openRegular, readSnapshot } from '../../src/disk/read.ts';
import { remove, removeLink } from '../../src/disk/remove.ts';
import { create, makeLink, replace } from '../../src/disk/replace.ts';
import type { Located, Workspace } from '../../src/workspace/workspace.ts';

export interface Victim {
  readonly workspace: Workspace;
  readonly context: DiskContext;
}

/**
 * The result of an operation by Lookfirst's code. `shown`: the text that a read returned; undefined
 * for changes.
 */
export interface Done {
  readonly ok: boolean;
  readonly shown?: string;
}

/**
 * One way to touch a file: by our code through an open folder, and by plain code through a path.
 */
export interface Operation {
  readonly name: string;
  /**
   * The treatment of a link at the end of the path. `all`: the operation follows the link.
   * `itself`: the operation works on the link.
   */
  readonly links: 'all' | 'itself';
  /**
   * The name that replaces `f` at the end of a row's path: a file (`f`), a link (`k`), an empty
   * folder (`empty`), or a name that does not exist.
   */
  readonly on: 'f' | 'k' | 'empty' | 'new' | 'new/deep';
  ours(victim: Victim, located: Located): Promise<Done> | Done;
  /** True if the plain code follows a link that is the last name of the path. */
  readonly plainFollowsLeaf: boolean;
  /** Does the work of `ours` on a path, without Lookfirst. Returns the text of a read. */
  plain(path: string, victim: { readonly spare: string }): string | undefined;
}

export const OPERATIONS: readonly Operation[] = [
  {
    name: 'readSnapshot',
    links: 'all',
    on: 'f',
    plainFollowsLeaf: true,
    ours: async ({ context }, located) => {
      const looked = located.exists ? { seen: located.stats } : {};
      const seen = await readSnapshot(located.place, { clock: context.clock, ...looked });
      return 'problem' in seen ? { ok: false } : { ok: true, shown: seen.bytes.toString() };
    },
    plain: (path) => readFileSync(path, 'utf8'),
  },
  {
    name: 'openRegular',
    links: 'all',
    on: 'f',
    plainFollowsLeaf: true,
    ours: (_victim, { place }) => {
      const opened = openRegular(place);
      if ('problem' in opened) return { ok: false };
      const shown = readFileSync(opened.fd, 'utf8');
      closeSync(opened.fd);
      return { ok: true, shown };
    },
    plain: (path) => readFileSync(path, 'utf8'),
  },
  {
    name: 'readPage',
    links: 'all',
    on: 'f',
    plainFollowsLeaf: true,
    ours: async ({ context }, { place }) => {
      const page = await readPage(place, { clock: context.clock, from: 1, limit: 9, maxLineBytes: 99 });
      return 'problem' in page ? { ok: false } : { ok: true, shown: page.lines.join('') };
    },
    plain: (path) => readFileSync(path, 'utf8'),
  },
  {
    name: 'listNames',
    links: 'all',
    on: 'f',
    plainFollowsLeaf: false,
    ours: (_victim, { place }) => ({
      ok: true,
      shown: listNames(place.dir)
        .map(({ name }) => name)
        .join(' '),
    }),
    plain: (path) => readdirSync(dirname(path)).join(' '),
  },
  {
    name: 'inspect',
    links: 'all',
    on: 'f',
    plainFollowsLeaf: true,
    ours: (_victim, { place }) => ({
      ok: true,
      shown: `inode ${inspect(place.dir, place.name)?.ino}`,
    }),
    plain: (path) => `inode ${statSync(path, { bigint: true }).ino}`,
  },
  {
    name: 'create',
    links: 'all',
    on: 'new',
    plainFollowsLeaf: true,
    ours: ({ context }, { place }) => create(context, place, { bytes: Buffer.from('made') }),
    plain: (path) => void writeFileSync(path, 'made'),
  },
  {
    name: 'makeLink',
    links: 'itself',
    on: 'new',
    plainFollowsLeaf: false,
    ours: ({ context }, { place }) => makeLink(context, place, 'f'),
    plain: (path) => void symlinkSync('f', path),
  },
  {
    name: 'replace',
    links: 'all',
    on: 'f',
    plainFollowsLeaf: true,
    ours: ({ context }, { place }) => {
      const expected = { fingerprint: fingerprintOf(Buffer.from(place.path.relative)) };
      return replace(context, place, { bytes: Buffer.from('changed'), expected });
    },
    plain: (path) => void writeFileSync(path, 'changed'),
  },
  {
    name: 'remove',
    links: 'itself',
    on: 'f',
    plainFollowsLeaf: false,
    ours: ({ context }, { place }) =>
      remove(context, place, { fingerprint: fingerprintOf(Buffer.from(place.path.relative)) }),
    plain: (path) => void unlinkSync(path),
  },
  {
    name: 'removeLink',
    links: 'itself',
    on: 'k',
    plainFollowsLeaf: false,
    ours: ({ context }, { place }) => removeLink(context, place, 'f'),
    plain: (path) => void unlinkSync(path),
  },
  {
    name: 'move from',
    links: 'itself',
    on: 'f',
    plainFollowsLeaf: false,
    ours: async (victim, { place }) => {
      const to = victim.workspace.locate('spare/moved', 'move');
      if (!to.ok) return { ok: false };
      const done = await move(victim.context, place, to.located.place);
      to.located.place.dir.close();
      return { ok: done.ok };
    },
    plain: (path, { spare }) => void renameSync(path, `${spare}/moved`),
  },
  {
    name: 'move to',
    links: 'all',
    on: 'new',
    plainFollowsLeaf: true,
    ours: async (victim, { place }) => {
      const from = victim.workspace.locate('spare/x', 'move');
      if (!from.ok) return { ok: false };
      const done = await move(victim.context, from.located.place, place);
      from.located.place.dir.close();
      return { ok: done.ok };
    },
    plain: (path, { spare }) => {
      // Write through a link at `path`, because a rename would only replace the link. Tools that
      // copy when a rename fails write through links in this way.
      if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) writeFileSync(path, 'moved');
      else linkSync(`${spare}/x`, path);
      return undefined;
    },
  },
  {
    name: 'makeOneFolder',
    links: 'all',
    on: 'new',
    plainFollowsLeaf: false,
    ours: ({ context }, located) => {
      if (located.exists) return { ok: false };
      return makeOneFolder(context, located.place).then((made) => ({ ok: made !== 'taken' }));
    },
    plain: (path) => void mkdirSync(path),
  },
  {
    name: 'removeFolder',
    links: 'itself',
    on: 'empty',
    plainFollowsLeaf: false,
    ours: ({ context }, { place }) => removeFolder(context, place).then((ok) => ({ ok })),
    plain: (path) => void rmdirSync(path),
  },
];
