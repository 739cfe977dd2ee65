import { describe, expect, it } from 'vitest';
import type { TurnMark } from '../../src/model/turn.ts';
import { openJournal } from '../../src/records/open-journal.ts';
import type { PublicEntry } from '../../src/records/public-entry.ts';
import { desk, ok, refusal } from '../support/desk.ts';

async function entriesIn(home: string): Promise<readonly PublicEntry[]> {
  const journal = await openJournal({ home });
  const entries: PublicEntry[] = [];
  for await (const entry of journal.entries({ order: 'oldest' })) entries.push(entry);
  await journal.close();
  return entries.filter(({ kind }) => kind !== 'session');
}

describe('a turn', () => {
  it('is named in every entry of its session after it began', async () => {
    const t = await desk({ session: 'agent' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.session.beginTurn({ turn: 'prompt-1', prompt: 'rename\nthe thing', promptNumber: 1 });
    await ok(t.session.write('a.txt', 'two\n'));
    await refusal(t.session.write('../out', ''), 'OUTSIDE_WORKSPACE');
    await t.session.beginTurn({ turn: 'prompt-2' });
    await ok(t.session.read('a.txt'));
    await t.session.close();
    expect((await entriesIn(t.home)).map(({ kind, turn }) => [kind, turn])).toEqual([
      ['read', undefined],
      ['turn', 'prompt-1'],
      ['change', 'prompt-1'],
      ['refusal', 'prompt-1'],
      ['turn', 'prompt-2'],
      ['read', 'prompt-2'],
    ]);
    expect((await entriesIn(t.home))[1]).toMatchObject({ prompt: 'rename the thing', promptNumber: 1 });
  });

  it('begins once, however often and by however many processes it is named', async () => {
    const t = await desk({ session: 'agent' });
    await Promise.all([1, 2, 3].map(() => t.session.beginTurn({ turn: 'p' })));
    await t.session.beginTurn({ turn: 'q' });
    await t.session.beginTurn({ turn: 'p' });
    await t.session.close();
    const again = await t.open();
    await again.beginTurn({ turn: 'p' });
    await again.close();
    expect((await entriesIn(t.home)).map(({ turn }) => turn)).toEqual(['p', 'q']);
  });

  it('is journalled before the calls in it, even if they arrive together', async () => {
    const t = await desk({ session: 'agent' });
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        await t.session.beginTurn({ turn: 'p' });
        await ok(t.session.write(name, name));
      }),
    );
    await t.session.close();
    const [first, ...rest] = await entriesIn(t.home);
    expect(first).toMatchObject({ kind: 'turn', turn: 'p' });
    expect(rest.map(({ turn }) => turn)).toEqual(['p', 'p', 'p']);
  });

  it('can be started by hand with a label', async () => {
    const t = await desk({ session: 'agent' });
    const { turn } = await t.session.checkpoint(`before ${'x'.repeat(500)}`);
    await t.session.close();
    const [entry] = await entriesIn(t.home);
    expect(entry).toMatchObject({ kind: 'turn', turn, session: 'agent' });
    expect(entry?.label).toMatch(/^before x+…$/);
    expect(entry?.label?.length).toBeLessThanOrEqual(120);
  });

  it('includes the sub-agents that begin in it', async () => {
    const t = await desk({ session: 'agent' });
    await t.session.beginTurn({ turn: 'p' });
    const child = await t.session.child();
    await ok(child.write('a', 'a'));
    await t.session.close();
    await child.close();
    expect((await entriesIn(t.home)).at(-1)).toMatchObject({ kind: 'change', turn: 'p' });
  });

  it.each([undefined, null, 'p1', ['p1'], { turn: 'p1', label: 5 }, { turn: 'p1', prompt: {} }])(
    'cannot begin with %j',
    async (mark) => {
      const t = await desk();
      const begun = t.session.beginTurn(mark as unknown as TurnMark);
      await expect(begun).rejects.toMatchObject({ name: 'Fault', code: 'MISUSE' });
    },
  );

  it.each(['', 'a\nb', 'x'.repeat(201), 7])('cannot be named %j', async (turn) => {
    const t = await desk();
    const begun = t.session.beginTurn({ turn: turn as string });
    await expect(begun).rejects.toMatchObject({ code: 'MISUSE' });
  });
});
