import {
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  fingerprintOf,
  imagesConformance,
  listed,
  NOTHING_NEEDED,
} from '../../../test/store/images-conformance.ts';
import { scratch } from '../../../test/support/tree.ts';
import type { Images, LateImage } from '../images.ts';
import { FileImages } from './file-images.ts';

for (const durability of ['full', 'file', 'none'] as const)
  imagesConformance(`images in files (${durability})`, (home) => new FileImages(home, { durability }));

const OLD = 'the old bytes\n';
const LATE = 'the new bytes\n';
const PRINT = fingerprintOf(OLD);

interface Setting {
  readonly images: Images;
  readonly root: string;
  /** A workspace file with the content `OLD`. */
  readonly file: string;
  /** Path at which the bytes of `file` are stored. */
  readonly image: string;
}

function setting(): Setting {
  const { home, root } = scratch();
  const file = join(root, 'a.txt');
  writeFileSync(file, OLD);
  const image = join(home, 'images', PRINT.sha256.slice(0, 1), PRINT.sha256);
  return { images: new FileImages(home, { durability: 'none' }), root, file, image };
}

it('an image is synced again only if another file has taken its name', async () => {
  const { images, image } = setting();
  const counts: number[] = [];
  const whole = { from: 1, sync: async () => counts.push(1) > 0 };
  await images.sync([PRINT.sha256], whole);
  expect(counts).toHaveLength(0);
  await images.keepBytes(Buffer.from(OLD), PRINT, 'none');
  await images.sync([PRINT.sha256], whole);
  await images.sync([PRINT.sha256], whole);
  expect(counts).toHaveLength(1);
  rmSync(image);
  await images.keepBytes(Buffer.from(OLD), PRINT, 'none');
  await images.sync([PRINT.sha256], whole);
  expect(counts).toHaveLength(2);
});

describe('a retained inode', () => {
  it.each(['keepLink', 'adopt'] as const)('is stored as the file itself, not as a copy (%s)', async (way) => {
    const { images, file, image } = setting();
    const { ino } = statSync(file);
    expect(await images[way](file, PRINT)).toBe('linked');
    expect(statSync(image).ino).toBe(ino);
  });

  it('is judged by the stats that the caller has read, which saves reading them again', async () => {
    const { images, file } = setting();
    const stats = { nlink: 2n, mode: BigInt(statSync(file).mode) };
    expect(await images.adopt(file, PRINT, { stats })).toBe('copied');
  });

  it('becomes private, and its mode is not read if the caller knows it', async () => {
    const { images, file, image } = setting();
    chmodSync(file, 0o644);
    await images.adopt(file, PRINT);
    images.makePrivate([{ sha256: PRINT.sha256, mode: 0o100600n }]);
    expect(statSync(image).mode & 0o777).toBe(0o644);
    images.makePrivate([{ sha256: PRINT.sha256 }]);
    expect(statSync(image).mode & 0o777).toBe(0o600);
  });

  it.each(['keepLink', 'adopt'] as const)('never replaces our own copy of its bytes (%s)', async (way) => {
    const { images, file } = setting();
    await images.keepBytes(Buffer.from(OLD), PRINT);
    const late = openSync(file, 'r+');
    await images[way](file, PRINT);
    writeSync(late, LATE, 0);
    closeSync(late);
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
    const [found] = await lateOf(images);
    expect(found).toMatchObject({ sha256: PRINT.sha256, lost: false });
    expect(readFileSync(found?.file ?? '', 'utf8')).toBe(LATE);
  });

  it('can be kept through a folder handle', async () => {
    const { images, root, image } = setting();
    const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
    expect(await images.keepLink(`/proc/self/fd/${fd}/a.txt`, PRINT)).toBe('linked');
    closeSync(fd);
    expect(readFileSync(image, 'utf8')).toBe(OLD);
  });

  it('gives the original bytes after a late writer has appended, and reports the append', async () => {
    const { images, root, file, image } = setting();
    const late = openSync(file, 'a');
    await images.adopt(file, PRINT);
    writeSync(late, 'too late');
    closeSync(late);
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
    await images.copyTo(PRINT, join(root, 'restored'));
    expect(readFileSync(join(root, 'restored'), 'utf8')).toBe(OLD);
    expect(await images.check(PRINT)).toBe('appended');
    expect(readFileSync(image, 'utf8')).toBe(`${OLD}too late`);
  });

  it.each([
    ['overwritten', 'THE'],
    ['cut short', ''],
  ])('is a fault to read if a late writer has %s it', async (_what, text) => {
    const { images, root, file, image } = setting();
    await images.adopt(file, PRINT);
    writeFileSync(image, text, { flag: text === '' ? 'w' : 'r+' });
    await expect(images.read(PRINT)).rejects.toMatchObject({ code: 'STORE_FAILED', path: image });
    await expect(images.read(PRINT)).rejects.toThrow(/overwritten after they were kept/);
    await expect(images.copyTo(PRINT, join(root, 'restored'))).rejects.toThrow(/overwritten/);
    expect(existsSync(join(root, 'restored')), 'no half-restored file').toBe(false);
    expect(await images.check(PRINT)).toBe('changed');
  });

  it.each(['keepLink', 'adopt', 'keepBytes'] as const)(
    'that a late writer overwrote is set aside when the same bytes are kept again (%s)',
    async (way) => {
      const { images, file, image, root } = setting();
      await images.adopt(file, PRINT);
      // Overwrite the stored file with other bytes of the same length.
      writeFileSync(image, LATE);
      writeFileSync(join(root, 'again'), OLD);
      if (way === 'keepBytes') await images.keepBytes(Buffer.from(OLD), PRINT);
      else await images[way](join(root, 'again'), PRINT);
      expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
      const names = readdirSync(join(image, '..'));
      const aside = names.find((name) => name.includes('.late-')) ?? '';
      expect(readFileSync(join(image, '..', aside), 'utf8')).toBe(LATE);
      expect(await images.usage()).toEqual({ count: 1, bytes: 2 * OLD.length });
      expect(await images.remove([PRINT.sha256], NOTHING_NEEDED)).toEqual({
        count: 1,
        bytes: 2 * OLD.length,
      });
    },
  );
});

describe('of several inodes with the same bytes', () => {
  /** Stores `count` equal files. A program that has the first one open then writes `text` at offset `at`. */
  async function afterLateWrite(count: number, text: string, at: number): Promise<Setting> {
    const t = setting();
    const late = openSync(t.file, 'r+');
    for (let kept = 0; kept < count; kept += 1) {
      if (kept > 0) writeFileSync(t.file, OLD);
      await t.images.adopt(t.file, PRINT);
    }
    writeSync(late, text, at);
    closeSync(late);
    return t;
  }

  it.each([
    ['after', OLD.length, `${OLD}LATE`],
    ['over', 0, `LATE${OLD.slice(4)}`],
  ])('each is kept, so that a late write %s the old bytes is found', async (_how, at, holds) => {
    const { images } = await afterLateWrite(3, 'LATE', at);
    const late = await lateOf(images);
    expect(late.map(({ lost }) => lost)).toEqual([false]);
    expect(readFileSync(late[0]?.file ?? '', 'utf8')).toBe(holds);
    expect(await lateOf(images), 'once').toEqual([]);
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
  });

  it('another one provides the bytes after the first was overwritten', async () => {
    const { images, image } = await afterLateWrite(2, '', 0);
    writeFileSync(image, LATE);
    expect(await lateOf(images)).toMatchObject([{ lost: false }]);
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
  });

  function renamed({ images, file }: Setting): string {
    const name = images.freeName?.(PRINT, statSync(file, { bigint: true })) ?? '';
    renameSync(file, name);
    return name;
  }

  it('a second one stays beside the image', async () => {
    const t = setting();
    await t.images.adopt(t.file, PRINT);
    writeFileSync(t.file, OLD);
    expect(await t.images.adopt(renamed(t), PRINT)).toBe('shared');
    expect(readdirSync(join(t.image, '..'))).toHaveLength(2);
  });

  it.each(['changed', 'deleted'])('a second one becomes the image if that was %s', async (what) => {
    const t = setting();
    await t.images.adopt(t.file, PRINT);
    if (what === 'changed') writeFileSync(t.image, LATE);
    writeFileSync(t.file, OLD);
    const name = renamed(t);
    if (what === 'deleted') rmSync(t.image);
    await t.images.adopt(name, PRINT);
    expect(Buffer.from(await t.images.read(PRINT)).toString()).toBe(OLD);
    expect(await lateOf(t.images)).toHaveLength(what === 'changed' ? 1 : 0);
  });

  it('a bounded number is kept, and all are removed with the image', async () => {
    const { images, image } = await afterLateWrite(100, '', 0);
    expect(readdirSync(join(image, '..')).length).toBeLessThanOrEqual(17);
    await images.remove([PRINT.sha256], NOTHING_NEEDED);
    expect(readdirSync(join(image, '..'))).toEqual([]);
  });
});

describe('a late write', () => {
  it('is reported to one of several concurrent callers, and the old bytes stay', async () => {
    const { images, root } = setting();
    const others = Array.from(
      { length: 5 },
      () => new FileImages(join(root, '../home'), { durability: 'none' }),
    );
    for (let round = 0; round < 20; round += 1) {
      const old = `${OLD}${round}`.repeat(round % 2 === 0 ? 1 : 100_000);
      const print = fingerprintOf(old);
      writeFileSync(join(root, 'f'), old);
      const late = openSync(join(root, 'f'), 'a');
      await images.adopt(join(root, 'f'), print);
      writeSync(late, 'LATE');
      closeSync(late);
      const found = await Promise.all(others.map((each) => lateOf(each, print)));
      expect(found.flat()).toMatchObject([{ lost: false }]);
      expect(await images.check(print)).toBe('intact');
      expect(readFileSync(found.flat()[0]?.file ?? '', 'utf8').endsWith('LATE')).toBe(true);
    }
  });
});

async function lateOf(images: Images, print = PRINT): Promise<LateImage[]> {
  const late: LateImage[] = [];
  for await (const each of images.setAsideLate([print])) late.push(each);
  return late;
}

describe('keeping copies a file and checks the copy', () => {
  it.each(['keepLink', 'adopt'] as const)('even if a copy exists, which may be damaged (%s)', async (way) => {
    const { images, root, file, image } = setting();
    await images.keepBytes(Buffer.from(OLD), PRINT);
    rmSync(image);
    writeFileSync(image, LATE, { mode: 0o400 });
    linkSync(file, join(root, 'second name'));
    expect(await images[way](file, PRINT)).toBe('copied');
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
  });

  const tmpfs = mountedElsewhere();

  it.skipIf(tmpfs === undefined).each(['keepLink', 'adopt'] as const)(
    'if the file is on another file system (%s)',
    async (way) => {
      const { home } = scratch();
      const elsewhere = mkdtempSync(`${tmpfs}/lookfirst-test-`);
      onTestFinished(() => rmSync(elsewhere, { recursive: true }));
      const images = new FileImages(home, { durability: 'full' });
      for (const text of [OLD, 'large '.repeat(400_000)]) {
        const file = join(elsewhere, 'a.txt');
        writeFileSync(file, text);
        expect(await images[way](file, fingerprintOf(text))).toBe('copied');
        expect(existsSync(file)).toBe(way === 'keepLink');
        writeFileSync(file, 'changed afterwards');
        expect(Buffer.from(await images.read(fingerprintOf(text))).toString()).toBe(text);
      }
    },
  );

  it('if the file has another hard link, through which it could be changed', async () => {
    const { images, root, file } = setting();
    linkSync(file, join(root, 'other-name'));
    expect(await images.keepLink(file, PRINT)).toBe('copied');
    writeFileSync(join(root, 'other-name'), 'written through');
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
  });

  it('if the file looks like one of our own copies, which are trusted unread', async () => {
    const { images, file } = setting();
    chmodSync(file, 0o400);
    expect(await images.keepLink(file, PRINT)).toBe('copied');
  });

  it.each([
    ['small', 'x'],
    ['large', 'large '.repeat(400_000)],
  ])('and keeps nothing if the bytes do not match the fingerprint: %s', async (_size, text) => {
    const { images, root } = setting();
    const file = join(root, 'b.txt');
    writeFileSync(file, text);
    linkSync(file, join(root, 'other-name'));
    for (const wrong of [fingerprintOf(`${text}!`), fingerprintOf(text.slice(1))]) {
      await expect(images.keepLink(file, wrong)).rejects.toMatchObject({ code: 'IO_FAILED', path: file });
      expect(await images.has(wrong.sha256)).toBe(false);
    }
    expect(await images.usage()).toEqual({ count: 0, bytes: 0 });
  });

  it('and rejects anything but a regular file', async () => {
    const { images, root, file } = setting();
    symlinkSync(file, join(root, 'link'));
    for (const name of ['link', '.', 'missing'])
      await expect(images.keepLink(join(root, name), PRINT)).rejects.toMatchObject({ code: 'MISUSE' });
  });
});

describe('the folder of images', () => {
  it('is private to its owner, and copies are read-only', async () => {
    const { images, image } = setting();
    await images.keepBytes(Buffer.from(OLD), PRINT);
    expect(statSync(join(image, '../..')).mode & 0o777).toBe(0o700);
    expect(statSync(join(image, '..')).mode & 0o777).toBe(0o700);
    expect(statSync(image).mode & 0o777).toBe(0o400);
  });

  it('contains no temporary files afterwards; those of dead writers go with the next removal', async () => {
    const { images, file, image } = setting();
    await images.keepBytes(Buffer.from(OLD), PRINT);
    await images.keepLink(file, PRINT);
    const temps = join(image, '../../tmp');
    expect(readdirSync(temps)).toEqual([]);
    writeFileSync(join(temps, '999999999-1-dead'), 'half a fi');
    expect(await listed(images)).toHaveLength(1);
    await images.remove([], NOTHING_NEEDED);
    expect(readdirSync(temps)).toEqual([]);
  });

  it('still returns an image that a removal has hidden and not yet deleted', async () => {
    const { images } = setting();
    await images.keepBytes(Buffer.from(OLD), PRINT);
    await images.remove([PRINT.sha256], async () => {
      expect(await images.has(PRINT.sha256)).toBe(true);
      expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
      return new Set();
    });
    expect(await images.has(PRINT.sha256)).toBe(false);
  });

  it('keeps an image that was stored again during its removal', async () => {
    const { images } = setting();
    await images.keepBytes(Buffer.from(OLD), PRINT);
    await images.remove([PRINT.sha256], async () => {
      expect(await images.keepBytes(Buffer.from(OLD), PRINT)).toBe('copied');
      return new Set();
    });
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(OLD);
  });

  it('can store the same bytes from many callers at once', async () => {
    const { images, root, image } = setting();
    const keeping = Array.from({ length: 40 }, async (_, i) => {
      const own = join(root, `${i}.txt`);
      writeFileSync(own, OLD);
      if (i % 3 === 0) await images.keepBytes(Buffer.from(OLD), PRINT);
      else await images[i % 3 === 1 ? 'adopt' : 'keepLink'](own, PRINT);
    });
    await Promise.all(keeping);
    expect(readFileSync(image, 'utf8')).toBe(OLD);
    expect(await images.usage()).toMatchObject({ count: 1 });
    expect(readdirSync(join(image, '../../tmp'))).toEqual([]);
  });

  it('causes a fault that names the folder, not the handle, if it cannot be written', async () => {
    const { home } = scratch();
    writeFileSync(join(home, 'images'), 'a file in the way');
    const images = new FileImages(home, { durability: 'none' });
    const keeping = images.keepBytes(Buffer.from(OLD), PRINT);
    await expect(keeping).rejects.toMatchObject({ code: 'STORE_FAILED', path: join(home, 'images') });
    await expect(images.has(PRINT.sha256)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    appendFileSync(join(home, 'images'), '');
  });
});

/** A folder on another file system than the one the tests run on; undefined if none is known. */
function mountedElsewhere(): string | undefined {
  if (!existsSync('/dev/shm')) return undefined;
  const TMPFS_MAGIC = 0x01021994;
  return statfsSync('/dev/shm').type === TMPFS_MAGIC && statSync('/dev/shm').dev !== statSync('/tmp').dev
    ? '/dev/shm'
    : undefined;
}
