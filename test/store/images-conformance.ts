import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { storedUsage } from '../../src/journal/gc.ts';
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

/** A removal leaves what was stored in the same millisecond. */
export const later = (): Promise<void> => setTimeout(5);

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += 1000) yield bytes.subarray(at, at + 1000);
}

const LARGE = Buffer.alloc(3_000_000, 'large file\n');
const CONTENTS = [
  ['text', Buffer.from('hello\n')],
  ['nothing', Buffer.alloc(0)],
  ['any bytes', Buffer.from([0, 255, 254, 10, 13])],
  ['more than one chunk', LARGE],
] as const;

/** Tests the rules for images (stored contents of files) that apply wherever images are kept. */
export function imagesConformance(name: string, open: (home: string) => Images | Promise<Images>): void {
  describe(`${name} keep the contract of images:`, () => {
    it.each(CONTENTS)('bytes are read back exactly: %s', async (_what, bytes) => {
      const images = await open(scratch().home);
      const print = fingerprintOf(bytes);
      expect(await images.has(print.sha256)).toBe(false);
      await images.keepBytes(bytes, print);
      expect(await images.has(print.sha256)).toBe(true);
      expect(Buffer.from(await images.read(print)).equals(bytes)).toBe(true);
    });

    it.each(CONTENTS)('chunks are read back exactly: %s', async (_what, bytes) => {
      const images = await open(scratch().home);
      const print = fingerprintOf(bytes);
      await images.keepChunks(chunksOf(bytes), print);
      await images.sync();
      expect(Buffer.from(await images.read(print)).equals(bytes)).toBe(true);
      const chunks: Uint8Array[] = [];
      for await (const chunk of images.chunks(print)) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    });

    it.each(CONTENTS)('other bytes are refused and not kept: %s', async (_what, bytes) => {
      const images = await open(scratch().home);
      const print = fingerprintOf(Buffer.concat([bytes, Buffer.from('x')]));
      await expect(images.keepChunks(chunksOf(bytes), print)).rejects.toMatchObject({ code: 'IO_FAILED' });
      expect(await images.has(print.sha256)).toBe(false);
      expect(await listed(images)).toEqual([]);
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
      const images = await open(scratch().home);
      const print = fingerprintOf('same');
      await images.keepBytes(Buffer.from('same'), print);
      await images.keepBytes(Buffer.from('same'), print);
      await images.keepBytes(Buffer.from('other'), fingerprintOf('other'));
      expect(await storedUsage(images)).toEqual({ count: 2, bytes: 9 });
      expect((await listed(images)).map((image) => image.sha256).sort()).toEqual(
        [print.sha256, fingerprintOf('other').sha256].sort(),
      );
    });

    it('reading an image that was not kept is a fault, never empty bytes', async () => {
      const images = await open(scratch().home);
      for (const size of [1, 3_000_000]) {
        const print = { ...fingerprintOf('x'), size };
        await expect(images.read(print)).rejects.toThrow(/not kept/);
        await expect(images.chunks(print)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
          code: 'STORE_FAILED',
        });
      }
    });

    it('images are removed unless an entry needs them by then', async () => {
      const images = await open(scratch().home);
      for (const text of ['a', 'bb', 'ccc']) await images.keepBytes(Buffer.from(text), fingerprintOf(text));
      await later();
      const hashes = ['a', 'bb', 'never kept'].map((text) => fingerprintOf(text).sha256);
      const removed = await images.remove(hashes, async () => new Set([fingerprintOf('bb').sha256]));
      expect(removed).toEqual({ count: 1, bytes: 1 });
      expect(await images.has(fingerprintOf('a').sha256)).toBe(false);
      expect(Buffer.from(await images.read(fingerprintOf('bb'))).toString()).toBe('bb');
      expect(await storedUsage(images)).toEqual({ count: 2, bytes: 5 });
    });

    it('an image that a change comes to rely on while it is removed stays', async () => {
      const images = await open(scratch().home);
      const print = fingerprintOf(LARGE);
      await images.keepBytes(LARGE, print);
      await later();
      await images.remove([print.sha256], async () => {
        expect(await images.has(print.sha256, 'rely')).toBe(true);
        await later();
        return new Set();
      });
      expect(Buffer.from(await images.read(print)).equals(LARGE)).toBe(true);
    });
  });
}
