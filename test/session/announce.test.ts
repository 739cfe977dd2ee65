import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HostIntent } from '../../src/model/intent.ts';
import type { AnnounceOptions } from '../../src/model/session.ts';
import { explain } from '../../src/report/explain.ts';
import { openStore } from '../../src/store/open-state.ts';
import type { Store } from '../../src/store/store.ts';
import { startChild } from '../support/child.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { setLimits } from '../support/limits.ts';

const NOW = { nowMs: 0 };

const write = (content: string): HostIntent => ({ kind: 'write', path: 'a.txt', content });
const edit = (oldString: string, newString: string): HostIntent => ({
  kind: 'edit',
  path: 'a.txt',
  edits: [{ oldString, newString }],
});

async function withStore<T>({ home }: Desk, ask: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(`sqlite:${join(home, 'lookfirst.db')}`);
  try {
    return await ask(store);
  } finally {
    await store.close();
  }
}

/** The ids of the changes in the journal, oldest first. */
function journalled(t: Desk): Promise<readonly (string | undefined)[]> {
  return withStore(t, async (store) =>
    (await store.entries({ kinds: ['change'], order: 'oldest' })).map(({ change }) => change),
  );
}

/** The ids of the announced changes whose outcome is not recorded yet. */
function pending(t: Desk): Promise<readonly string[]> {
  return withStore(t, async (store) => (await store.pending()).map(({ change }) => change).sort());
}

interface Announcing {
  readonly path?: string;
  readonly content: string;
  readonly options?: AnnounceOptions;
  readonly program: 'writes' | 'waits';
}

/**
 * Starts a process that announces a change and is killed. With `program: 'writes'`, the process
 * first makes the change, as another program would. Returns the id of the announced change.
 */
async function killedAnnouncer(
  t: Desk,
  { path = 'a.txt', content, options = {}, program }: Announcing,
): Promise<string> {
  const child = await startChild('session-announcer', {
    root: t.root,
    home: t.home,
    path,
    content,
    options,
    program,
  });
  const announced = await child.message<{ ok: true; change: string }>();
  expect(announced).toMatchObject({ ok: true });
  expect((await child.exit()).signal).toBe('SIGKILL');
  return announced.change;
}

describe('an announced change', () => {
  it('is judged like a change of ours, and stored before it is made', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a.txt', 'one\n');
    await refusal(t.session.announce([write('x\n')]), 'NOT_READ');
    await ok(t.session.read('a.txt'));
    const { change } = await ok(t.session.announce([write('x\n')]));
    await t.put('a.txt', 'x\n');
    await ok(t.session.settle(change, 'done'));
    await ok(t.session.write('a.txt', 'y\n'));
    await ok(t.session.undo({}));
    await ok(t.session.undo({ change }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it.each([
    ['none', true],
    ['lock', false],
  ] as const)('with hold %s lets another session write meanwhile: %s', async (hold, goesOn) => {
    setLimits({ lockTimeoutMs: 50 });
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const other = await t.open();
    await ok(other.read('a.txt'));
    await ok(t.session.announce([write('x\n')], { hold }));
    const outcome = await other.write('a.txt', 'theirs\n');
    expect(outcome.ok ? 'written' : outcome.refusal.code).toBe(goesOn ? 'written' : 'BUSY');
  });

  it('names the action of a call that does not get the lock of an announced change', async () => {
    setLimits({ lockTimeoutMs: 50 });
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const other = await t.open();
    await ok(other.read('a.txt'));
    await ok(t.session.announce([write('x\n')], { hold: 'lock' }));
    const edited = await refusal(other.edit('a.txt', [{ oldString: 'one', newString: 'two' }]), 'BUSY');
    const deleted = await refusal(other.delete('a.txt'), 'BUSY');
    const announced = await refusal(
      other.announce([{ kind: 'insert', path: 'a.txt', content: 'x' }], { hold: 'none' }),
      'BUSY',
    );
    expect([edited.action, deleted.action, announced.action]).toEqual(['edit', 'delete', 'insert']);
  });

  it('is refused as stale with a diff that counts as seen; a `vet` credits nothing', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'two\n');
    await refusal(t.session.vet({ kind: 'write', path: 'a.txt', content: 'x\n' }), 'STALE');
    await refusal(t.session.vet({ kind: 'write', path: 'a.txt', content: 'y\n' }), 'STALE');
    const { detail } = await refusal(t.session.announce([write('x\n')]), 'STALE');
    expect(detail?.diff).toContain('+two');
    const { change } = await ok(t.session.announce([write('y\n')]));
    await ok(t.session.settle(change, 'failed'));
  });

  it('with a call id is announced once', async () => {
    const t = await desk({ store: 'memory:' });
    const options = { hold: 'none', call: 'call-1' } as const;
    const first = await ok(t.session.announce([write('x\n')], options));
    const again = await ok(t.session.announce([write('x\n')], options));
    const other = await ok(t.session.announce([write('x\n')], { ...options, call: 'call-2' }));
    expect(again.change).toBe(first.change);
    expect(other.change).not.toBe(first.change);
  });

  it('is judged if another change has its call id', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('b.txt', 'unread\n');
    const options = { hold: 'none', call: 'call-1' } as const;
    const first = await ok(t.session.announce([write('x\n')], options));
    const other = { kind: 'write', path: 'b.txt', content: 'x\n' } as const;
    await refusal(t.session.announce([other], options), 'NOT_READ');
    await ok(t.session.read('b.txt'));
    const second = await ok(t.session.announce([other], options));
    expect(second.change).not.toBe(first.change);
    expect(await ok(t.session.announce([other], options))).toMatchObject({ change: second.change });
  });

  it('that is not settled frees its files when the session closes', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const announcer = await t.open();
    await ok(announcer.read('a.txt'));
    await ok(announcer.announce([write('x\n')]));
    await announcer.close();
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'y\n'));
  });

  it.each([
    ['no change', [[]]],
    ['a change of an unknown kind', [[{ kind: 'paint', path: 'a.txt' }]]],
    ['invalid lines', [[{ kind: 'touch', path: 'a.txt', lines: [{ from: 0, to: 1 }] }]]],
    ['an unknown hold', [[write('x')], { hold: 'tight' }]],
    ['an unknown option', [[write('x')], { calls: 'one' }]],
  ])('is refused for %s', async (_what, args) => {
    const t = await desk({ store: 'memory:' });
    await refusal(t.session.announce(...(args as [HostIntent[]])), 'INVALID_ARGUMENT');
  });

  it('is settled once, by the session that announced it', async () => {
    const t = await desk({ store: 'memory:' });
    const { change } = await ok(t.session.announce([write('x\n')], { hold: 'none' }));
    const child = await t.session.child();
    await refusal(child.settle(change, 'done'), 'INVALID_ARGUMENT');
    const wrong = await refusal(t.session.settle(change, 'perhaps' as 'done'), 'INVALID_ARGUMENT');
    expect(explain(wrong, NOW)).toContain(`refusing to settle ${change}: "ending" must be one of`);
    await t.put('a.txt', 'x\n');
    await ok(t.session.settle(change, 'done'));
    await ok(t.session.settle(change, 'done'));
    const unknown = await refusal(t.session.settle('c000', 'done'), 'INVALID_ARGUMENT');
    expect(explain(unknown, NOW)).toMatch(
      /^refusing to settle c000: this session has not announced that change/,
    );
  });
});

describe('a witnessed read', () => {
  it.each(['default', 'strict', 'file-time'] as const)(
    'clears a repeated refusal as a read does: %s',
    async (preset) => {
      for (const content of ['two\n', undefined]) {
        const t = await desk({ store: 'memory:', preset });
        await t.put('a.txt', 'one\n');
        await ok(t.session.witness({ kind: 'read', path: 'a.txt', content: 'one\n' }));
        await t.put('a.txt', 'two\n');
        await refusal(t.session.write('a.txt', 'mine\n'), 'STALE');
        await refusal(t.session.write('a.txt', 'mine\n'), 'STALE');
        await ok(
          t.session.witness({ kind: 'read', path: 'a.txt', ...(content === undefined ? {} : { content }) }),
        );
        await ok(t.session.write('a.txt', 'mine\n'));
      }
    },
  );
});

describe('the sighting after an announced change', () => {
  const LINES = 'one\ntwo\nthree\nfour\n';

  it.each([
    ['was written as announced', 'one\nTWO\nthree\nfour\n', 'ok'],
    ['was written with other line endings', 'one\r\nTWO\r\nthree\r\nfour\r\n', 'ok'],
    ['is followed by a line of another program', 'one\nTWO\nthree\nfour\nfive\n', 'PARTIALLY_READ'],
    ['was not written', 'other\n', 'NOT_READ'],
  ])('whose text %s', async (_what, left, code) => {
    const t = await desk({ store: 'memory:' });
    await t.put('a.txt', LINES);
    await ok(t.session.read('a.txt'));
    for (const intent of [edit('two', 'TWO'), write('one\nTWO\nthree\nfour\n')]) {
      await t.put('a.txt', LINES);
      await ok(t.session.read('a.txt'));
      const { change } = await ok(t.session.announce([intent]));
      await t.put('a.txt', left);
      await ok(t.session.settle(change, 'done'));
      const vetted = await t.session.vet({ kind: 'write', path: 'a.txt', content: 'x\n' });
      expect(vetted.ok ? 'ok' : vetted.refusal.code, intent.kind).toBe(code);
    }
  });

  it('that failed and left the file unchanged stays valid', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a.txt', LINES);
    await ok(t.session.read('a.txt'));
    const { change } = await ok(t.session.announce([write('x\n')]));
    await ok(t.session.settle(change, 'failed'));
    await ok(t.session.write('a.txt', 'y\n'));
  });

  it('that failed half-way is stale', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('a.txt', LINES);
    await ok(t.session.read('a.txt'));
    const { change } = await ok(t.session.announce([write('x\n')]));
    await t.put('a.txt', 'half');
    await ok(t.session.settle(change, 'failed'));
    await refusal(t.session.write('a.txt', 'y\n'), 'STALE');
    await ok(t.session.undo({ change }));
    expect(t.text('a.txt')).toBe(LINES);
  });
});

describe('a change whose announcer died', () => {
  it('is journalled before the change that was based on it', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const dead = await killedAnnouncer(t, { content: 'theirs\n', program: 'writes' });
    await ok(t.session.read('a.txt'));
    const { change = '' } = await ok(t.session.write('a.txt', 'mine\n'));
    expect(await journalled(t)).toEqual([dead, change]);
    await ok(t.session.undo({ change }));
    expect(t.text('a.txt')).toBe('theirs\n');
  });

  it('is never undone, because its program may continue', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await killedAnnouncer(t, { content: 'theirs\n', program: 'waits' });
    await t.put('a.txt', '');
    await ok(t.session.announce([{ kind: 'write', path: 'b.txt', content: 'x' }, write('x')]));
    expect(t.text('a.txt')).toBe('');
  });

  it('can be settled by another process of its session, for which the written text then counts as seen', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const change = await killedAnnouncer(t, {
      content: 'new\n',
      options: { hold: 'none' },
      program: 'writes',
    });
    const successor = await t.open({ session: 'announcer' });
    await ok(successor.settle(change, 'done'));
    await ok(successor.write('a.txt', 'newer\n'));
    await ok(successor.undo({}));
    await ok(successor.undo({ change }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('stays announced while its file is unchanged, and is journalled first when another session writes the file', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const options = { hold: 'none', call: 'call-1' } as const;
    const change = await killedAnnouncer(t, { content: 'new\n', options, program: 'waits' });
    const successor = await t.open({ session: 'announcer' });
    expect(await ok(successor.announce([write('new\n')], options))).toMatchObject({ change });
    await ok(t.session.read('a.txt'));
    const mine = await ok(t.session.write('a.txt', 'one and mine\n'));
    await t.session.close();
    await t.put('a.txt', 'new\n');
    const settled = await ok(successor.settle(change, 'done'));
    expect(settled.notices).toMatchObject([{ kind: 'overtaken', path: 'a.txt', change: mine.change }]);
    expect(await journalled(t)).toEqual([mine.change, change]);
    await ok(successor.undo({ change }));
    expect(t.text('a.txt')).toBe('one and mine\n');
  });

  it('is settled by any process after ten minutes if its files changed, and after a day if not', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const written = await killedAnnouncer(t, {
      content: 'new\n',
      options: { hold: 'none' },
      program: 'writes',
    });
    const untouched = await killedAnnouncer(t, {
      path: 'b.txt',
      content: 'x\n',
      options: { hold: 'none' },
      program: 'waits',
    });
    const pendingAfter = async (minutes: number): Promise<readonly string[]> => {
      const later = await t.open({ now: () => Date.now() + minutes * 60_000 });
      await later.close();
      return pending(t);
    };
    expect(await pendingAfter(5)).toEqual([written, untouched].sort());
    expect(await pendingAfter(11)).toEqual([untouched]);
    expect(await journalled(t)).toEqual([written]);
    expect(await pendingAfter(25 * 60)).toEqual([]);
    expect(await journalled(t)).toEqual([written]);
  });

  it('is settled by its session when the host reports that no call is running', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const change = await killedAnnouncer(t, {
      content: 'new\n',
      options: { hold: 'none' },
      program: 'writes',
    });
    const successor = await t.open({ session: 'announcer' });
    await successor.settleLeft();
    expect(await journalled(t)).toEqual([change]);
    writeFileSync(join(t.root, 'a.txt'), 'new\n');
    await ok(successor.write('a.txt', 'newer\n'));
  });
});
