import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Outcome } from '../../src/model/verdict.ts';
import { Records } from '../../src/records/records.ts';
import { type TakenBack, takeBack, takeBackPart } from '../../src/records/undo-jobs.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`);
const text = (changes: Readonly<Record<number, string>> = {}): string =>
  `${LINES.map((line, i) => changes[i + 1] ?? line).join('\n')}\n`;

interface Scene extends Desk {
  readonly change: string;
  readonly people: Sessions;
  part(hunk: number, preview?: boolean): Promise<Outcome<{ taken: TakenBack }>>;
}

/** A change with two hunks: lines 3 and 15. */
async function scene(): Promise<Scene> {
  const t = await desk({ session: 'agent' });
  await t.put('a.txt', text());
  await ok(t.session.read('a.txt'));
  const { change = '' } = await ok(t.session.write('a.txt', text({ 3: 'THREE', 15: 'FIFTEEN' })));
  // Closing waits until the written bytes are stored.
  await t.session.close();
  const people = await Sessions.open({ roots: [t.root], home: t.home });
  onTestFinished(() => people.close());
  const part = (hunk: number, preview = false) =>
    takeBackPart(people, { change, key: join(t.root, 'a.txt'), hunk, preview }, 'viewer:me');
  return { ...t, change, people, part };
}

describe('the undo of one hunk', () => {
  it('restores the lines of the hunk and nothing else, and is journalled as a partial undo', async () => {
    const t = await scene();
    const { taken } = await ok(t.part(1));
    expect(t.text('a.txt')).toBe(text({ 3: 'THREE' }));
    const records = await Records.open({ home: t.home, store: `sqlite:${join(t.home, 'lookfirst.db')}` });
    onTestFinished(() => records.close());
    expect(await records.change(taken.result.change ?? '')).toMatchObject({
      session: 'viewer:me',
      action: 'undo',
      undoesPart: { change: t.change, lines: { from: 15, to: 15 } },
    });
  });

  it('changes nothing in a dry run', async () => {
    const t = await scene();
    const { taken } = await ok(t.part(0, true));
    expect(taken.result.diff).toContain('-THREE');
    expect(t.text('a.txt')).toBe(text({ 3: 'THREE', 15: 'FIFTEEN' }));
  });

  it('keeps later changes of other writers elsewhere in the file', async () => {
    const t = await scene();
    await t.put('a.txt', text({ 3: 'THREE', 9: 'nine', 15: 'FIFTEEN' }));
    await ok(t.part(0));
    expect(t.text('a.txt')).toBe(text({ 9: 'nine', 15: 'FIFTEEN' }));
  });

  it('refuses with the diff if its own lines were changed since', async () => {
    const t = await scene();
    await t.put('a.txt', text({ 3: 'drei', 15: 'FIFTEEN' }));
    const { detail } = await refusal(t.part(0), 'STALE');
    expect(detail?.diff).toContain('+drei');
    expect(t.text('a.txt')).toContain('drei');
  });

  it('leaves the rest of the change to be undone, and can be undone itself', async () => {
    const t = await scene();
    const { taken } = await ok(t.part(0));
    await ok(takeBack(t.people, { change: taken.result.change ?? '' }));
    expect(t.text('a.txt')).toBe(text({ 3: 'THREE', 15: 'FIFTEEN' }));
    await ok(t.part(0));
    await ok(takeBack(t.people, { change: t.change, merge: true }));
    expect(t.text('a.txt')).toBe(text());
  });

  it.each([
    ['twice', async (t: Scene) => void (await ok(t.part(0))), 0, /already/],
    ['of a missing hunk', async () => {}, 2, /no part 3/],
  ])('is refused %s', async (_what, before, hunk, reason) => {
    const t = await scene();
    await before(t);
    expect((await refusal(t.part(hunk), 'NOT_FOUND')).detail?.reason).toMatch(reason);
  });
});
