import { chmodSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  fingerprintOf,
  imagesConformance,
  later,
  listed,
  NOTHING_NEEDED,
} from '../../../test/store/images-conformance.ts';
import { scratch } from '../../../test/support/tree.ts';
import type { Durability } from '../../model/policy.ts';
import type { Images } from '../images.ts';
import { openState } from '../open-state.ts';
import type { Store } from '../store.ts';

async function open(home: string, url?: string, durability: Durability = 'none'): Promise<Images> {
  return (await openBoth(home, url, durability)).images;
}

async function openBoth(
  home: string,
  url: string = `sqlite:${join(home, 'lookfirst.db')}`,
  durability: Durability = 'none',
): Promise<{ readonly images: Images; readonly store: Store; close(): Promise<void> }> {
  const state = await openState(url, { home, durability });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= state.close();
    return closed;
  };
  onTestFinished(close);
  return { ...state, close };
}

imagesConformance('images in memory', (home) => open(home, 'memory:'));
for (const durability of ['full', 'none'] as const)
  imagesConformance(`images of a machine (${durability})`, (home) => open(home, undefined, durability));

const [SMALL, LARGE] = [Buffer.alloc(128 << 10, 's'), Buffer.alloc((128 << 10) + 1, 'l')];

function filesIn(home: string): readonly string[] {
  return readdirSync(join(home, 'blobs'));
}

describe('images of a machine', () => {
  it('are rows of the database up to 128 KB, and private files of their own above', async () => {
    const { home } = scratch();
    const images = await open(home);
    await images.keepBytes(SMALL, fingerprintOf(SMALL));
    await images.keepBytes(LARGE, fingerprintOf(LARGE));
    const { sha256 } = fingerprintOf(LARGE);
    expect(filesIn(home)).toEqual([sha256]);
    expect(statSync(join(home, 'blobs', sha256)).mode & 0o777).toBe(0o400);
    expect(statSync(join(home, 'blobs')).mode & 0o777).toBe(0o700);
    expect(await listed(images)).toHaveLength(2);
  });

  it.each([SMALL, LARGE])('outlive the process, and other processes see them at once', async (bytes) => {
    const { home } = scratch();
    const [one, two] = [await openBoth(home), await openBoth(home)];
    await one.images.keepBytes(bytes, fingerprintOf(bytes));
    expect(await two.images.has(fingerprintOf(bytes).sha256)).toBe(true);
    await one.close();
    const again = await open(home);
    expect(Buffer.from(await again.read(fingerprintOf(bytes))).equals(bytes)).toBe(true);
  });

  it('report damage, and give no bytes', async () => {
    const { home } = scratch();
    const images = await open(home);
    const print = fingerprintOf(LARGE);
    await images.keepBytes(LARGE, print);
    const file = join(home, 'blobs', print.sha256);
    chmodSync(file, 0o600);
    writeFileSync(file, 'other bytes');
    await expect(images.read(print)).rejects.toThrow(/damaged after they were kept/);
    const all = async (): Promise<void> => {
      for await (const _ of images.chunks(print));
    };
    await expect(all()).rejects.toThrow(/damaged after they were kept/);
  });

  it('keep no half-written file: a clean-up removes what a dead process left', async () => {
    const { home } = scratch();
    const images = await open(home);
    await images.keepBytes(LARGE, fingerprintOf(LARGE));
    const left = join(home, 'blobs', `${fingerprintOf('x').sha256}.new-1-1-1`);
    writeFileSync(left, 'half');
    expect(await listed(images)).toHaveLength(1);
    await images.remove([fingerprintOf('y').sha256], NOTHING_NEEDED);
    expect(filesIn(home)).toHaveLength(2);
    utimesSync(left, 1, 1);
    await images.remove([fingerprintOf('y').sha256], NOTHING_NEEDED);
    expect(filesIn(home)).toEqual([fingerprintOf(LARGE).sha256]);
  });
});

describe('bytes that were only read', () => {
  it('are stored with the next record, never as a file, and serve other processes', async () => {
    const { home } = scratch();
    const [one, two] = [await openBoth(home), await openBoth(home)];
    one.images.keepSoon(SMALL, fingerprintOf(SMALL));
    one.images.keepSoon(LARGE, fingerprintOf(LARGE));
    expect(await one.images.has(fingerprintOf(SMALL).sha256)).toBe(true);
    expect(await two.images.has(fingerprintOf(SMALL).sha256)).toBe(false);
    await one.store.record({ entries: [{ kind: 'turn', atMs: 1, session: 's', root: '/', turn: 't' }] });
    expect(Buffer.from(await two.images.read(fingerprintOf(SMALL))).equals(SMALL)).toBe(true);
    expect(await two.images.has(fingerprintOf(LARGE).sha256)).toBe(false);
    expect(readdirSync(home)).not.toContain('blobs');
  });

  it('are stored when the store closes', async () => {
    const { home } = scratch();
    const one = await openBoth(home);
    one.images.keepSoon(SMALL, fingerprintOf(SMALL));
    await one.close();
    expect(await (await open(home)).has(fingerprintOf(SMALL).sha256)).toBe(true);
  });

  it('are removed after a time, unless a change has come to need them', async () => {
    const { home } = scratch();
    const images = await open(home);
    for (const text of ['read', 'needed', 'kept']) images.keepSoon(Buffer.from(text), fingerprintOf(text));
    images.flush();
    expect(await images.has(fingerprintOf('needed').sha256, 'rely')).toBe(true);
    await images.keepBytes(Buffer.from('kept'), fingerprintOf('kept'));
    images.keepSoon(Buffer.from('kept'), fingerprintOf('kept'));
    images.flush();
    await later();
    images.removeRead?.(Date.now());
    const left = await listed(images);
    expect(left.map(({ sha256 }) => sha256).sort()).toEqual(
      ['needed', 'kept'].map((text) => fingerprintOf(text).sha256).sort(),
    );
  });
});
