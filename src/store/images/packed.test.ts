import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { fingerprintOf, listed, NOTHING_NEEDED } from '../../../test/store/images-conformance.ts';
import { startChild } from '../../../test/support/child.ts';
import { desk, ok } from '../../../test/support/desk.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { scratch } from '../../../test/support/tree.ts';
import { openState } from '../open-state.ts';
import { FileImages } from './file-images.ts';

const TEXT = Array.from({ length: 2000 }, (_, line) => `line ${line}\n`).join('');
const PRINT = fingerprintOf(TEXT);
const DAY_MS = 24 * 3_600_000;

function setting() {
  const { home, root } = scratch();
  const images = new FileImages(home, { durability: 'full' });
  const image = join(home, 'images', PRINT.sha256.slice(0, 1), PRINT.sha256);
  const file = join(root, 'a.txt');
  writeFileSync(file, TEXT);
  return { images, image, file, packed: `${image}.packed`, root };
}

async function expectBytes(images: FileImages, to: string): Promise<void> {
  expect(await images.has(PRINT.sha256)).toBe(true);
  expect(await images.check(PRINT)).toBe('intact');
  expect(Buffer.from(await images.read(PRINT)).toString()).toBe(TEXT);
  await images.copyTo(PRINT, to);
  expect(readFileSync(to, 'utf8')).toBe(TEXT);
}

it('a copy is compressed at once, and still readable', async () => {
  const { images, image, packed, root } = setting();
  await images.keepBytes(Buffer.from(TEXT), PRINT);
  expect(await images.pack({ nowMs: Date.now() })).toMatchObject({ count: 1 });
  expect([existsSync(image), statSync(packed).mode & 0o777]).toEqual([false, 0o400]);
  expect(statSync(packed).size).toBeLessThan(TEXT.length / 2);
  await expectBytes(images, join(root, 'b.txt'));
  expect(await images.keepBytes(Buffer.from(TEXT), PRINT)).toBe('shared');
  expect(existsSync(image)).toBe(false);
  expect(await listed(images)).toMatchObject([{ sha256: PRINT.sha256, bytes: statSync(packed).size }]);
  expect(await images.pack({ nowMs: Date.now() })).toEqual({ count: 0, bytes: 0 });
});

it('bytes are stored again while their compressed form is being removed', async () => {
  const { images, root } = setting();
  await images.keepBytes(Buffer.from(TEXT), PRINT);
  await images.pack({ nowMs: Date.now() });
  await images.remove([PRINT.sha256], async () => {
    await images.keepBytes(Buffer.from(TEXT), PRINT);
    return new Set();
  });
  await expectBytes(images, join(root, 'b.txt'));
});

it('a damaged compressed form is replaced', async () => {
  const { images, image, packed, root } = setting();
  await images.keepBytes(Buffer.from(TEXT), PRINT);
  writeFileSync(packed, '');
  expect(await images.pack({ nowMs: Date.now() })).toMatchObject({ count: 1 });
  expect(existsSync(image)).toBe(false);
  await expectBytes(images, join(root, 'b.txt'));
});

it.skipIf(process.platform !== 'linux')(
  'a displaced file is compressed after a day, unless a program has it open or has changed it',
  async () => {
    const { images, image, packed, file, root } = setting();
    await images.adopt(file, PRINT);
    expect(await images.pack({ nowMs: Date.now() })).toMatchObject({ count: 0 });
    appendFileSync(image, 'late');
    expect(await images.pack({ nowMs: Date.now() + 2 * DAY_MS })).toMatchObject({ count: 0 });
    writeFileSync(image, TEXT);
    const fd = openSync(image, 'a');
    expect(await images.pack({ nowMs: Date.now() + 2 * DAY_MS })).toMatchObject({ count: 0 });
    closeSync(fd);
    expect(await images.pack({ nowMs: Date.now() + 2 * DAY_MS })).toMatchObject({ count: 1 });
    expect([existsSync(image), existsSync(packed)]).toEqual([false, true]);
    await expectBytes(images, join(root, 'b.txt'));
    // Store another file with the same bytes. A program may still have it open, so it is not
    // compressed within a day, either.
    writeFileSync(file, TEXT);
    expect(await images.adopt(file, PRINT)).toBe('linked');
    expect(await images.pack({ nowMs: Date.now() })).toMatchObject({ count: 0 });
    expect([existsSync(image), existsSync(packed)]).toEqual([true, true]);
    await images.pack({ nowMs: Date.now() + 2 * DAY_MS });
    expect(existsSync(image)).toBe(false);
  },
);

it('an image that does not shrink, or fits into one disk block, is not compressed', async () => {
  const { images } = setting();
  const random = Buffer.from(Array.from({ length: 9000 }, () => Math.floor(Math.random() * 256)));
  for (const bytes of [random, Buffer.from('short\n'.repeat(100))])
    await images.keepBytes(bytes, fingerprintOf(bytes));
  expect(await images.pack({ nowMs: Date.now() })).toEqual({ count: 0, bytes: 0 });
});

it('a compressed image is removed like any other, and put back if it is needed', async () => {
  const { images, packed } = setting();
  await images.keepBytes(Buffer.from(TEXT), PRINT);
  await images.pack({ nowMs: Date.now() });
  await images.remove([PRINT.sha256], async () => {
    expect(Buffer.from(await images.read(PRINT)).toString()).toBe(TEXT);
    return new Set([PRINT.sha256]);
  });
  expect(existsSync(packed)).toBe(true);
  expect(await images.remove([PRINT.sha256], NOTHING_NEEDED)).toMatchObject({ count: 1 });
  expect(await images.has(PRINT.sha256)).toBe(false);
  expect(await listed(images)).toEqual([]);
});

it('reading a damaged compressed image is a fault, and the bytes can be stored again', async () => {
  const { images, packed } = setting();
  await images.keepBytes(Buffer.from(TEXT), PRINT);
  await images.pack({ nowMs: Date.now() });
  for (const damage of [Buffer.from('no deflate'), readFileSync(packed).subarray(0, 50), Buffer.alloc(0)]) {
    writeFileSync(packed, damage, { mode: 0o600, flag: 'w' });
    await expect(images.read(PRINT)).rejects.toMatchObject({ code: expect.stringMatching(/FAILED/) });
  }
  expect(await images.keepBytes(Buffer.from(TEXT), PRINT)).toBe('copied');
  expect(Buffer.from(await images.read(PRINT)).toString()).toBe(TEXT);
});

it.skipIf(process.platform !== 'linux')('an undo restores a file from a compressed image', async () => {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', TEXT);
  await ok(t.session.read('a.txt'));
  await ok(t.session.edit('a.txt', [{ oldString: 'line 7\n', newString: 'other\n' }]));
  const state = await openState(`sqlite:${join(t.home, 'lookfirst.db')}`, {
    home: t.home,
    durability: 'none',
  });
  expect(await state.images.pack?.({ nowMs: Date.now() + 2 * DAY_MS })).toMatchObject({
    count: expect.any(Number),
  });
  expect(existsSync(join(t.home, 'images', PRINT.sha256.slice(0, 1), `${PRINT.sha256}.packed`))).toBe(true);
  await state.close();
  await ok(t.session.undo({}));
  expect(t.text('a.txt')).toBe(TEXT);
});

it('another process can read every image while images are compressed, removed and put back', async () => {
  const { home } = scratch();
  const images = new FileImages(home, { durability: 'none' });
  const texts = Array.from({ length: 6 }, (_, index) => `${index}\n${TEXT}`);
  const large = Buffer.alloc(1_200_000, 'more than is compressed\n');
  const prints = [...texts, large].map(fingerprintOf);
  const hashes = prints.map(({ sha256 }) => sha256);
  const forms = new Set<string>();
  for (const [index, bytes] of [...texts, large].entries())
    await images.keepBytes(Buffer.from(bytes), prints[index] ?? PRINT);
  const child = await startChild('image-reader', { home, prints });
  expect(await child.message()).toBe('ready');
  for (let round = 0; round < rounds(20, 150); round += 1) {
    await images.pack({ nowMs: Date.now() });
    await images.remove(hashes, async () => new Set(hashes));
    forms.add(existsSync(imageFile(home, hashes[0] ?? '')) ? 'plain' : 'compressed');
    // Move another file with the same bytes to the path of each stored content. The next round
    // compresses this file.
    for (const [index, text] of texts.entries()) {
      const file = join(home, `displaced-${round}-${index}`);
      writeFileSync(file, text, { mode: 0o400 });
      renameSync(file, imageFile(home, hashes[index] ?? ''));
    }
    forms.add(existsSync(imageFile(home, hashes[0] ?? '')) ? 'plain' : 'compressed');
    await setImmediate();
  }
  child.send('stop');
  const { reads, failures } = await child.message<{ reads: number; failures: string[] }>();
  expect([...forms].sort()).toEqual(['compressed', 'plain']);
  expect(reads).toBeGreaterThan(0);
  expect(failures).toEqual([]);
});

function imageFile(home: string, sha256: string): string {
  return join(home, 'images', sha256.slice(0, 1), sha256);
}
