import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fingerprintOf, listed, NOTHING_NEEDED } from '../../../test/store/images-conformance.ts';
import { scratch } from '../../../test/support/tree.ts';
import type { LateImage, TreeFile } from '../images.ts';
import { FileImages } from './file-images.ts';

const NAMES = ['a', 'in/b', 'in/c', 'in/deep/d'];
const textOf = (name: string): string => `the bytes of ${name}\n`;

interface Setting {
  readonly home: string;
  readonly folder: string;
  readonly images: FileImages;
  readonly lists: () => readonly string[];
  /** Returns a handle of this file that was opened before the folder left the workspace. */
  readonly open: (name: string) => number;
}

/**
 * Moves a folder from the workspace to the state folder and registers its files as kept there. The
 * files were last written an hour ago.
 */
async function setting(): Promise<Setting> {
  const { home, root } = scratch();
  const made = join(root, 'd');
  const handles = new Map<string, number>();
  for (const name of NAMES) {
    mkdirSync(dirname(join(made, name)), { recursive: true });
    writeFileSync(join(made, name), textOf(name), { mode: 0o644 });
    const hourAgo = Date.now() / 1000 - 3600;
    utimesSync(join(made, name), hourAgo, hourAgo);
    const fd = openSync(join(made, name), 'r+');
    onTestFinished(() => closeSync(fd));
    handles.set(name, fd);
  }
  const files = NAMES.map((name): TreeFile => {
    const stamp = lstatSync(join(made, name), { bigint: true });
    return { name, fingerprint: fingerprintOf(textOf(name)), stamp };
  });
  const folder = join(home, 'retained', 'folder-1-x');
  mkdirSync(dirname(folder));
  renameSync(made, folder);
  const images = new FileImages(home, { durability: 'full' });
  await images.keepTree({ folder, files });
  const trees = join(home, 'images', 'trees');
  return {
    home,
    folder,
    images,
    lists: () => readdirSync(trees),
    open: (name) => handles.get(name) ?? -1,
  };
}

async function hashesIn(images: FileImages): Promise<readonly string[]> {
  return (await listed(images)).map(({ sha256 }) => sha256).sort();
}

async function lateOf(images: FileImages): Promise<readonly LateImage[]> {
  const late: LateImage[] = [];
  for await (const each of images.setAsideLate(NAMES.map((name) => fingerprintOf(textOf(name)))))
    late.push(each);
  return late;
}

const sorted = NAMES.map((name) => fingerprintOf(textOf(name)).sha256).sort();

async function expectAll(images: FileImages): Promise<void> {
  for (const name of NAMES) {
    const print = fingerprintOf(textOf(name));
    expect(await images.has(print.sha256)).toBe(true);
    expect(await images.check(print)).toBe('intact');
    expect(Buffer.from(await images.read(print)).toString()).toBe(textOf(name));
  }
}

describe('files that are kept in their folder', () => {
  it('are images for every process, and count once', async () => {
    const { images, home, folder } = await setting();
    expect(images.holdsTree(folder)).toBe(true);
    for (const each of [images, new FileImages(home, { durability: 'none' })]) {
      await expectAll(each);
      expect(await hashesIn(each)).toEqual(sorted);
      expect((await each.usage()).count).toBe(NAMES.length);
    }
    await images.keepBytes(Buffer.from(textOf('a')), fingerprintOf(textOf('a')));
    expect((await images.usage()).count).toBe(NAMES.length);
  });

  it('of equal bytes replace each other: a late write into one leaves the others', async () => {
    const { home } = scratch();
    const folder = join(home, 'retained', 'folder-1-y');
    mkdirSync(folder, { recursive: true });
    const files = ['one', 'two', 'three'].map((name): TreeFile => {
      writeFileSync(join(folder, name), textOf('a'));
      const stamp = lstatSync(join(folder, name), { bigint: true });
      return { name, fingerprint: fingerprintOf(textOf('a')), stamp };
    });
    const images = new FileImages(home, { durability: 'none' });
    await images.keepTree({ folder, files });
    const print = fingerprintOf(textOf('a'));
    for (const name of ['one', 'three']) {
      writeFileSync(join(folder, name), 'written late');
      expect(await images.check(print)).toBe('intact');
      expect(await lateOf(images)).toMatchObject([{ sha256: print.sha256 }]);
      expect(Buffer.from(await images.read(print)).toString()).toBe(textOf('a'));
    }
  });

  it('get the names of images in a clean-up, and only their owner may read them', async () => {
    const { images, home, folder, lists } = await setting();
    await images.pack({ nowMs: Date.now() });
    expect([lists(), existsSync(folder), images.holdsTree(folder)]).toEqual([[], false, false]);
    await expectAll(images);
    await expectAll(new FileImages(home, { durability: 'none' }));
    for (const sha256 of sorted)
      expect(lstatSync(join(home, 'images', sha256.slice(0, 1), sha256)).mode & 0o777).toBe(0o600);
    expect(await lateOf(images)).toEqual([]);
  });

  it('are all kept if a clean-up is interrupted after any number of them', async () => {
    for (let done = 0; done <= NAMES.length; done += 1) {
      const { images, home, folder, lists } = await setting();
      const ending = new AbortController();
      const adopt = images.adopt.bind(images);
      let adopted = 0;
      images.adopt = async (...args) => {
        const kept = await adopt(...args);
        adopted += 1;
        if (adopted === done) ending.abort();
        return kept;
      };
      if (done === 0) ending.abort();
      await images.pack({ nowMs: Date.now(), signal: ending.signal });
      expect(adopted).toBe(done);
      const next = new FileImages(home, { durability: 'none' });
      await expectAll(next);
      await next.pack({ nowMs: Date.now() });
      expect([lists(), existsSync(folder)]).toEqual([[], false]);
      await expectAll(next);
    }
  });

  it('can get the names of images from two processes at the same time', async () => {
    const { images, home } = await setting();
    const other = new FileImages(home, { durability: 'none' });
    await Promise.all([images, other].map((each) => each.pack({ nowMs: Date.now() })));
    await expectAll(images);
    expect(await hashesIn(images)).toEqual(sorted);
  });

  it('are removed like other images, and stay if they are needed', async () => {
    const { images } = await setting();
    const [first = '', second = ''] = NAMES.map((name) => fingerprintOf(textOf(name)).sha256);
    expect(await images.remove([first], NOTHING_NEEDED)).toMatchObject({ count: 1 });
    await images.remove([second], async () => new Set([second]));
    expect(await hashesIn(images)).toEqual(sorted.filter((sha256) => sha256 !== first));
    expect(await images.has(first)).toBe(false);
  });

  it('are forgotten when the folder has moved back', async () => {
    const { images, home, folder } = await setting();
    expect(await images.has(sorted[0] ?? '')).toBe(true);
    renameSync(folder, join(home, 'back'));
    images.dropTree(folder);
    expect(await images.has(sorted[0] ?? '')).toBe(false);
    await images.pack({ nowMs: Date.now() });
    expect(readdirSync(join(home, 'back')).sort()).toEqual(['a', 'in']);
  });

  it('may be in a folder that forbids changes', async () => {
    const { images, folder } = await setting();
    chmodSync(join(folder, 'in'), 0o500);
    await images.pack({ nowMs: Date.now() });
    await expectAll(images);
  });

  it('stay where they are, and nothing is removed, if their list is damaged', async () => {
    const { home, folder } = await setting();
    writeFileSync(join(home, 'images', 'trees', basename(folder)), '{"folder":');
    const images = new FileImages(home, { durability: 'none' });
    expect(images.holdsTree(folder)).toBe(true);
    await images.pack({ nowMs: Date.now() });
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe(textOf('a'));
  });
});

describe('a program that writes into a file of a kept folder', () => {
  /**
   * `rewound`: after writing, the program sets the file's times back, as some archivers do.
   * `plain`: it does not.
   */
  it.each(['plain', 'rewound'] as const)(
    'is reported, and the earlier bytes stay after an append (%s)',
    async (how) => {
      const { images, folder, open } = await setting();
      writeSync(open('in/b'), 'late\n', textOf('in/b').length);
      const hourAgo = Date.now() / 1000 - 3600;
      if (how === 'rewound') utimesSync(join(folder, 'in/b'), hourAgo, hourAgo);
      const [late, ...more] = await lateOf(images);
      expect([late?.lost, more]).toEqual([false, []]);
      expect(readFileSync(late?.file ?? '', 'utf8')).toBe(`${textOf('in/b')}late\n`);
      await expectAll(images);
      expect(await lateOf(images)).toEqual([]);
    },
  );

  it.each(['before', 'after'] as const)(
    'over the earlier bytes is reported as their loss (%s they get names)',
    async (when) => {
      const { images, open, folder } = await setting();
      if (when === 'after') await images.pack({ nowMs: Date.now() });
      writeSync(open('in/b'), 'LATE', 0);
      if (when === 'before') expect(await images.check(fingerprintOf(textOf('in/b')))).toBe('changed');
      if (when === 'before') await images.pack({ nowMs: Date.now() });
      const [late, ...more] = await lateOf(images);
      expect([late?.lost, more]).toEqual([true, []]);
      expect(readFileSync(late?.file ?? '', 'utf8')).toBe(textOf('in/b').replace(/^..../, 'LATE'));
      expect(existsSync(folder)).toBe(false);
    },
  );

  it('long before a clean-up is found by it, although the times look old by then', async () => {
    const { images, open, folder } = await setting();
    writeSync(open('a'), 'LATE', 0);
    const minuteAgo = Date.now() / 1000 - 60;
    utimesSync(join(folder, 'a'), minuteAgo, minuteAgo);
    await images.pack({ nowMs: Date.now() });
    await expect(images.read(fingerprintOf(textOf('a')))).rejects.toThrow('are not kept');
    expect(await lateOf(images)).toMatchObject([{ lost: true }]);
  });

  it('is not mistaken for one that changed only the mode or linked the file', async () => {
    const { images, home, folder } = await setting();
    chmodSync(join(folder, 'a'), 0o600);
    linkSync(join(folder, 'in/c'), join(home, 'linked'));
    expect(await lateOf(images)).toEqual([]);
    await images.pack({ nowMs: Date.now() });
    expect(await lateOf(images)).toEqual([]);
    await expectAll(images);
    appendFileSync(join(home, 'linked'), 'more');
    await expectAll(images);
  });
});
