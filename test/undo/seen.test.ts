import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { keptHashes } from '../support/kept.ts';
import { treeOf } from '../support/tree.ts';

const CHANGES: Readonly<Record<string, (session: GatedSession) => Promise<unknown>>> = {
  overwrite: (session) => ok(session.write('a.txt', 'two\n')),
  edit: (session) => ok(session.edit('a.txt', [{ oldString: 'one', newString: 'two' }])),
  insert: (session) => ok(session.insert('a.txt', 'more\n')),
  delete: (session) => ok(session.delete('a.txt')),
  move: (session) => ok(session.move('a.txt', 'b.txt')),
  batch: (session) =>
    ok(
      session.apply([
        { kind: 'write', path: 'a.txt', content: 'two\n' },
        { kind: 'write', path: 'new.txt', content: 'new\n' },
      ]),
    ),
};

async function seen(): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'one\n');
  await ok(t.session.read('a.txt'));
  return t;
}

describe('after an undo of its own change a session', () => {
  it.each(Object.entries(CHANGES))('has the sighting from before the change: %s', async (_what, change) => {
    const t = await seen();
    await change(t.session);
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(['a.txt: one\n']);
    await ok(t.session.write('a.txt', 'three\n'));
  });

  it('has the sighting from several changes before', async () => {
    const t = await seen();
    for (const text of ['two\n', 'three\n', 'four\n']) await ok(t.session.write('a.txt', text));
    await ok(t.session.undo({}));
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('two\n');
    await ok(t.session.undo({}));
    await ok(t.session.write('a.txt', 'five\n'));
  });

  it('has seen its own text when the undo is undone', async () => {
    const t = await seen();
    await ok(t.session.write('a.txt', 'two\n'));
    const { change = '' } = await ok(t.session.undo({}));
    await ok(t.session.undo({ change }));
    await ok(t.session.write('a.txt', 'three\n'));
  });

  it.each<[string, (t: Desk) => Promise<unknown>, (t: Desk) => Promise<unknown>]>([
    [
      'only a part',
      async (t) => {
        await t.put('a.txt', 'one\ntwo\n');
        await ok(t.session.read('a.txt', { limit: 1 }));
        await ok(t.session.edit('a.txt', [{ oldString: 'one', newString: 'uno' }]));
      },
      async () => undefined,
    ],
    [
      'cut lines',
      async (t) => {
        await t.put('a.txt', `${'long '.repeat(1000)}\nend\n`);
        await ok(t.session.read('a.txt'));
        await ok(t.session.edit('a.txt', [{ oldString: 'end', newString: 'END' }]));
      },
      async () => undefined,
    ],
    [
      'it, but before a compaction',
      (t) => ok(t.session.write('a.txt', 'two\n')),
      (t) => t.session.compacted(),
    ],
    [
      'it, but before a compaction that another process reported',
      (t) => ok(t.session.write('a.txt', 'two\n')),
      async (t) => {
        const hook = await t.open({ session: 'ann' });
        await hook.compacted();
      },
    ],
    ['it, but before a rewind', (t) => ok(t.session.write('a.txt', 'two\n')), (t) => t.session.rewound(0)],
    [
      'it, and was told to forget it',
      (t) => ok(t.session.write('a.txt', 'two\n')),
      (t) => t.session.forget(),
    ],
  ])('has to read the file again if it had seen %s', async (_what, change, between) => {
    const t = await seen();
    await change(t);
    const { change: id = '' } = (await ok(t.session.status('a.txt'))).files[0]?.lastChange ?? {};
    await between(t);
    await ok(t.session.undo(id === '' ? {} : { change: id }));
    const outcome = await t.session.write('a.txt', 'three\n');
    expect(outcome).toMatchObject({ ok: false });
  });

  it('has to read the file again if it overwrote it unread with an expected revision', async () => {
    const t = await seen();
    const bob = await t.open({ session: 'bob' });
    const { revision = '' } = await ok(bob.read('a.txt'));
    const cleo = await t.open({ session: 'cleo' });
    await ok(cleo.write('a.txt', 'two\n', { expectedRevision: revision }));
    await ok(cleo.undo({}));
    await refusal(cleo.write('a.txt', 'three\n'), 'NOT_READ');
    await ok(cleo.edit('a.txt', [{ oldString: 'one', newString: 'uno' }]));
  });
});

describe('an undo is reported to other sessions', () => {
  it('as a change of the session that made the undo, with the diff', async () => {
    const t = await seen();
    await ok(t.session.write('a.txt', 'two\n'));
    const bob = await t.open({ session: 'bob' });
    await ok(bob.read('a.txt'));
    const human = await t.open({ session: 'human' });
    await ok(human.undo({ session: 'ann' }));
    const { detail } = await refusal(bob.write('a.txt', 'three\n'), 'STALE');
    expect(detail?.writer?.session).toBe('human');
    expect(detail?.diff).toContain('+one');
    // Ann has seen these bytes before her own change, so they count as seen, and a notice says that they are back.
    expect((await ok(t.session.write('a.txt', 'three\n'))).notices).toEqual([{ kind: 'came-back' }]);
  });

  it('as a deletion, if it removed a new file', async () => {
    const t = await seen();
    await ok(t.session.write('new.txt', 'new\n'));
    const human = await t.open({ session: 'human' });
    await ok(human.undo({ session: 'ann' }));
    await refusal(t.session.edit('new.txt', [{ oldString: 'new', newString: 'old' }]), 'DELETED');
  });

  it('not at all, if it restores the bytes they had seen', async () => {
    const t = await seen();
    const bob = await t.open({ session: 'bob' });
    await ok(bob.read('a.txt'));
    await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.undo({}));
    await ok(bob.write('a.txt', 'three\n'));
  });
});

describe('a folder into which another program has put a file', () => {
  it('is not removed by an undo, which is refused and says so', async () => {
    const t = await seen();
    await ok(t.session.mkdir('d'));
    await t.put('d/theirs.txt', 'theirs\n');
    expect((await ok(t.session.undo({ preview: true }))).files).toEqual([{ path: 'd', did: 'kept' }]);
    const { path, detail } = await refusal(t.session.undo({}), 'STALE');
    expect([path, detail?.reason]).toEqual([
      'd',
      'another program or session has put something into it since that change',
    ]);
  });

  it('is kept while the rest is undone, and the next undo continues with the change before', async () => {
    const t = await seen();
    await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.write('d/e/mine.txt', 'mine\n'));
    await t.put('d/theirs.txt', 'theirs\n');
    const told = [
      { path: 'd/e/mine.txt', did: 'removed' },
      { path: 'd/e', did: 'removed' },
      { path: 'd', did: 'kept' },
    ];
    expect((await ok(t.session.undo({ preview: true }))).files).toEqual(told);
    expect((await ok(t.session.undo({}))).files).toEqual(told);
    expect(treeOf(t.root)).toEqual(['a.txt: two\n', 'd/theirs.txt: theirs\n']);
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(['a.txt: one\n', 'd/theirs.txt: theirs\n']);
  });

  it('every acknowledged change is in the journal, even one that had no effect', async () => {
    const t = await seen();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    const [ann, bob] = [await sessions.session('x'), await sessions.session('y')];
    const made = await Promise.all([ann.mkdir('d/e'), bob.mkdir('d/e'), ann.mkdir('d/e/f')]);
    const ids = made.flatMap((outcome) =>
      outcome.ok && outcome.change !== undefined ? [outcome.change] : [],
    );
    const entries = await sessions.world.store.entries({ kinds: ['change'] });
    expect(entries.map((entry) => entry.change).sort()).toEqual([...new Set(ids)].sort());
    await sessions.close();
  });
});

it('an undo that is refused or only previewed stores no images', async () => {
  const t = await seen();
  await ok(t.session.write('a.txt', 'two\n2\n3\n4\n5\n'));
  await ok(t.session.edit('a.txt', [{ oldString: 'two', newString: 'TWO' }]));
  await ok(t.session.status());
  const before = await keptHashes(t.home, 'needed');
  appendFileSync(join(t.root, 'a.txt'), 'by hand\n');
  await refusal(t.session.undo({}), 'STALE');
  await ok(t.session.undo({ merge: true, preview: true }));
  expect(await keptHashes(t.home, 'needed')).toEqual(before);
});
