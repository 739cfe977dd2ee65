import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Awaitable } from '../../src/model/awaitable.ts';
import type { Fingerprint } from '../../src/model/fingerprint.ts';
import type { Images, KeptImage } from '../../src/store/images.ts';
import { scratch } from '../support/tree.ts';

export function fingerprintOf(bytes: string | Uint8Array): Fingerprint {
  return { sha256: hash('sha256', bytes), size: Buffer.byteLength(bytes) };
}

export const NOTHING_NEEDED = async (): Promise<ReadonlySet<string>> => new Set();

export async function listed(images: Images): Promise<KeptImage[]> {
  const all: KeptImage[] = [];
  for await (const image of images.list()) all.push(image);
  return all;
}

const LARGE = Buffer.alloc(3_000_000, 'large file\n');
const CONTENTS = [
  ['text', Buffer.from('hello\n')],
  ['nothing', Buffer.alloc(0)],
  ['any bytes', Buffer.from([0, 255, 254, 10, 13])],
  ['more than one chunk', LARGE],
] as const;

/** Tests the rules for images (stored contents of files) that apply wherever images are kept. */
export function imagesConformance(name: string, open: (home: string) => Awaitable<Images>): void {
  describe(`${name} keep the contract of images:`, () => {
    it.each(CONTENTS)('bytes are read back exactly: %s', async (_what, bytes) => {
      const images = await open(scratch().home);
      const print = fingerprintOf(bytes);
      expect(await images.has(print.sha256)).toBe(false);
      await images.keepBytes(bytes, print);
      expect(await images.has(print.sha256)).toBe(true);
      expect(Buffer.from(await images.read(print)).equals(bytes)).toBe(true);
      expect(await images.check(print)).toBe('intact');
    });

    it.each(CONTENTS)('a file is read back exactly, whichever way it was kept: %s', async (_what, bytes) => {
      for (const way of ['keepLink', 'adopt'] as const) {
        const { home, root } = scratch();
        const images = await open(home);
        const [from, to] = [join(root, 'from'), join(root, 'to')];
        writeFileSync(from, bytes);
        await images[way](from, fingerprintOf(bytes));
        expect(existsSync(from), way).toBe(way === 'keepLink');
        await images.copyTo(fingerprintOf(bytes), to);
        expect(readFileSync(to).equals(bytes)).toBe(true);
        const chunks: Uint8Array[] = [];
        for await (const chunk of images.chunks(fingerprintOf(bytes))) chunks.push(chunk);
        expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
      }
    });

    it("changing the caller's bytes afterwards does not change the image", async () => {
      const images = await open(scratch().home);
      const bytes = Buffer.from('before');
      const print = fingerprintOf(bytes);
      await images.keepBytes(bytes, print);
      bytes.write('after!');
      (await images.read(print)).fill(0);
      expect(Buffer.from(await images.read(print)).toString()).toBe('before');
    });

    it('equal contents are kept once', async () => {
      const { home, root } = scratch();
      const images = await open(home);
      const print = fingerprintOf('same');
      writeFileSync(join(root, 'a'), 'same');
      await images.keepBytes(Buffer.from('same'), print);
      expect(await images.keepBytes(Buffer.from('same'), print)).toBe('shared');
      await images.keepLink(join(root, 'a'), print);
      await images.keepBytes(Buffer.from('other'), fingerprintOf('other'));
      expect(await images.usage()).toEqual({ count: 2, bytes: 9 });
      expect((await listed(images)).map((image) => image.sha256).sort()).toEqual(
        [print.sha256, fingerprintOf('other').sha256].sort(),
      );
    });

    it('reading an image that was not kept is a fault, never empty bytes', async () => {
      const { home, root } = scratch();
      const images = await open(home);
      await expect(images.read(fingerprintOf('x'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
      await expect(images.copyTo(fingerprintOf('x'), join(root, 'to'))).rejects.toThrow(/not kept/);
      expect(existsSync(join(root, 'to'))).toBe(false);
      expect(await images.check(fingerprintOf('x'))).toBe('missing');
    });

    it('an existing file is not overwritten by a copy', async () => {
      const { home, root } = scratch();
      const images = await open(home);
      writeFileSync(join(root, 'to'), 'mine');
      await images.keepBytes(Buffer.from('x'), fingerprintOf('x'));
      await expect(images.copyTo(fingerprintOf('x'), join(root, 'to'))).rejects.toThrow();
      expect(readFileSync(join(root, 'to'), 'utf8')).toBe('mine');
    });

    it('images are removed unless an entry needs them by then', async () => {
      const images = await open(scratch().home);
      for (const text of ['a', 'bb', 'ccc']) await images.keepBytes(Buffer.from(text), fingerprintOf(text));
      const hashes = ['a', 'bb', 'never kept'].map((text) => fingerprintOf(text).sha256);
      const removed = await images.remove(hashes, async () => new Set([fingerprintOf('bb').sha256]));
      expect(removed).toEqual({ count: 1, bytes: 1 });
      expect(await images.has(fingerprintOf('a').sha256)).toBe(false);
      expect(Buffer.from(await images.read(fingerprintOf('bb'))).toString()).toBe('bb');
      expect(await images.usage()).toEqual({ count: 2, bytes: 5 });
    });
  });
}
