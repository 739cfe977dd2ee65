import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../test/store/images-conformance.ts';
import {
  ABSENT,
  changeEntry,
  pendingChange,
  ROOT,
  readEntry,
  sessionRecord,
} from '../../test/store/samples.ts';
import type { Delta, State } from '../model/delta.ts';
import type { Images } from '../store/images.ts';
import { type Connection, openMemory } from '../store/sqlite/connection.ts';
import { LocalImages } from '../store/sqlite/local-images.ts';
import { openMemoryStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { collectGarbage, planGc } from './gc.ts';
import { verifyChain } from './verify.ts';

const HOUR = 3_600_000;
const NOW = 1000 * HOUR;
const NO_LIMITS: Parameters<typeof planGc>[1] = { retentionMs: 0, quotaBytes: 0, sessionIdleMs: 0 };

class Setting {
  readonly store: Store;
  /** The creation time that newly stored file contents get. */
  clock: number = NOW - 100 * HOUR;
  readonly images: Images;

  private constructor(store: Store, db: Connection) {
    this.store = store;
    this.images = new LocalImages(db, undefined, () => this.clock);
  }

  static async make(): Promise<Setting> {
    return new Setting(await openMemoryStore(), await openMemory());
  }

  /**
   * Stores the content `before`, and records an edit of it and a read, both `hoursAgo` hours ago.
   */
  async edit(before: string, hoursAgo: number): Promise<void> {
    await this.keep(before);
    const entry = changeEntry(`c-${before}-${hoursAgo}`, [edited(before)], { atMs: NOW - hoursAgo * HOUR });
    await this.store.record({ entries: [entry, readEntry({ atMs: NOW - hoursAgo * HOUR })] });
  }

  async keep(content: string): Promise<void> {
    await this.images.keepBytes(Buffer.from(content), fingerprintOf(content));
  }

  plan(limits: Partial<Parameters<typeof planGc>[1]>): Promise<Awaited<ReturnType<typeof planGc>>> {
    return planGc(this, { ...NO_LIMITS, ...limits }, NOW);
  }

  async collect(limits: Partial<Parameters<typeof planGc>[1]>): ReturnType<typeof collectGarbage> {
    const plan = await this.plan(limits);
    const keptAt = this.clock;
    this.clock = NOW;
    const collected = await collectGarbage(this, plan);
    this.clock = keptAt;
    return collected;
  }

  async kept(...contents: readonly string[]): Promise<string[]> {
    const kept = [];
    for (const content of contents)
      if (await this.images.has(fingerprintOf(content).sha256)) kept.push(content);
    return kept;
  }
}

function edited(before: string): Delta {
  const side: State = { kind: 'file', fingerprint: fingerprintOf(before), mode: 0o644, kept: true };
  return { key: `${ROOT}/a`, relative: 'a', before: side, after: ABSENT };
}

describe('retention', () => {
  it('removes older entries, and images that only they need; a plan alone removes nothing', async () => {
    const setting = await Setting.make();
    await setting.edit('old', 50);
    await setting.edit('shared', 40);
    await setting.edit('new', 10);
    await setting.edit('shared', 5);
    const plan = await setting.plan({ retentionMs: 24 * HOUR });
    expect(plan).toMatchObject({
      throughSeq: 4,
      entries: 4,
      frees: { count: 1, bytes: 3 },
      leaves: { count: 2 },
    });
    expect(await setting.store.entries({})).toHaveLength(8);
    expect(await setting.kept('old', 'shared', 'new')).toEqual(['old', 'shared', 'new']);

    const collected = await setting.collect({ retentionMs: 24 * HOUR });
    expect((await setting.store.entries({})).map((entry) => entry.seq)).toEqual([8, 7, 6, 5]);
    expect(await setting.kept('old', 'shared', 'new')).toEqual(['shared', 'new']);
    expect(await verifyChain(setting.store)).toMatchObject({ ok: true, entries: 4 });
    expect(collected).toMatchObject({ entries: 4, images: { count: 1 } });
    expect(await setting.plan({ retentionMs: 24 * HOUR })).toMatchObject({ entries: 0, images: [] });
  });

  it('finds the images of thousands of changes, of which some are needed again later', async () => {
    const setting = await Setting.make();
    const names = Array.from({ length: 3000 }, (_, n) => `content ${n}`);
    for (const name of names) await setting.edit(name, 50);
    expect(await setting.plan({})).toMatchObject({ images: [], leaves: { count: names.length } });
    const again = names.filter((_, n) => n % 7 === 0);
    for (const name of again) await setting.edit(name, 5);
    const { images, leaves } = await setting.plan({ retentionMs: 24 * HOUR });
    const expected = names.filter((name) => !again.includes(name)).map((name) => fingerprintOf(name).sha256);
    expect([...images].sort()).toEqual(expected.sort());
    expect(leaves.count).toBe(again.length);
  });

  it('keeps every entry after the first young one, whatever its time says', async () => {
    const setting = await Setting.make();
    await setting.edit('young', 1);
    await setting.edit('clock was wrong', 90);
    expect(await setting.plan({ retentionMs: 24 * HOUR })).toMatchObject({ entries: 0, images: [] });
  });

  it('without limits keeps everything', async () => {
    const setting = await Setting.make();
    await setting.edit('ancient', 900);
    expect(await setting.plan({})).toMatchObject({ entries: 0, images: [], leaves: { count: 1, bytes: 7 } });
  });
});

describe('the quota', () => {
  const TEN = ['0', '1', '2', '3'].map((digit) => digit.repeat(10));

  it.each([
    [1000, TEN],
    [40, TEN],
    [39, TEN.slice(1)],
    [20, TEN.slice(2)],
    [1, TEN.slice(3)],
  ])('of %i bytes removes the oldest changes first and never the newest', async (quotaBytes, left) => {
    const setting = await Setting.make();
    for (const [age, content] of TEN.entries()) await setting.edit(content, 50 - age);
    await setting.collect({ quotaBytes });
    expect(await setting.kept(...TEN)).toEqual(left);
    const changes = await setting.store.entries({ kinds: ['change'] });
    expect(changes).toHaveLength(left.length);
  });
});

describe('images that no entry needs', () => {
  it('are removed after a day: until then they may show what changed in a file that was read', async () => {
    const setting = await Setting.make();
    await setting.keep('left by a crash');
    setting.clock = NOW - 60_000;
    await setting.keep('just kept');
    await setting.collect({});
    expect(await setting.kept('left by a crash', 'just kept')).toEqual(['just kept']);
  });

  it('do not include those of a pending change, however old or large', async () => {
    const setting = await Setting.make();
    await setting.edit('old', 900);
    await setting.keep('pending');
    await setting.store.record({
      announce: pendingChange('p', { entry: changeEntry('p', [edited('pending')]) }),
    });
    expect((await setting.plan({ retentionMs: 1, quotaBytes: 1 })).images).toHaveLength(1);
    await setting.collect({ retentionMs: 1, quotaBytes: 1 });
    expect(await setting.kept('old', 'pending')).toEqual(['pending']);
  });

  it.each(['announced', 'recorded'] as const)(
    'do not include those that became needed after the plan was made (%s)',
    async (how) => {
      const setting = await Setting.make();
      await setting.edit('again', 50);
      const plan = await planGc(setting, { ...NO_LIMITS, retentionMs: HOUR }, NOW);
      expect(plan.images).toHaveLength(1);
      const entry = changeEntry('late', [edited('again')], { atMs: NOW });
      if (how === 'announced') await setting.store.record({ announce: pendingChange('late', { entry }) });
      else await setting.store.record({ entries: [entry] });
      expect(await collectGarbage(setting, plan)).toMatchObject({
        entries: 2,
        images: { count: 0, bytes: 0 },
      });
      expect(await setting.kept('again')).toEqual(['again']);
    },
  );
});

it('idle unnamed sessions are forgotten; named and active ones are not', async () => {
  const setting = await Setting.make();
  for (const [id, named, lastMs] of [
    ['idle', false, 0],
    ['named', true, 0],
    ['lively', false, NOW],
  ] as const)
    await setting.store.record({ session: sessionRecord(id, { named, lastMs }) });
  expect((await setting.plan({})).sessions).toEqual([]);
  const collected = await setting.collect({ sessionIdleMs: HOUR });
  expect((await setting.store.sessions()).map((session) => session.id).sort()).toEqual(['lively', 'named']);
  expect(collected).toMatchObject({ sessions: 1 });
});
