import { describe, expect, it, vi } from 'vitest';
import type { Notice } from '../../src/model/results.ts';
import { describeNotice } from '../../src/report/describe-notice.ts';
import { explain } from '../../src/report/explain.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import type { SessionOptions } from '../../src/session/sessions.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { timeless } from '../support/command-line.ts';
import { desk as newDesk, ok, refusal } from '../support/desk.ts';
import { describePostgres } from '../support/postgres.ts';

const TEXT = Array.from({ length: 20 }, (_, n) => `line ${n + 1}\n`).join('');

async function noticesOfRead(session: GatedSession, path: string): Promise<readonly Notice[]> {
  return (await ok(session.read(path))).notices ?? [];
}

function claimed(notices: readonly Notice[]): readonly Notice[] {
  return notices.filter((notice) => 'claims' in notice && notice.kind !== 'others-at-work');
}

/**
 * Waits until `other` knows which files `session` works on. A shared database reports this up to a
 * second late.
 */
const caughtUp = (other: GatedSession, session: GatedSession): Promise<void> =>
  vi.waitFor(async () => expect(await other.claims()).toEqual(await session.claims()), 100_000);

/** Edits line `n` after reading the file; returns the notices of the edit. */
async function editLine(session: GatedSession, n: number, path = 'a.txt'): Promise<readonly Notice[]> {
  const { text } = await ok(session.read(path));
  const line = text.split('\n')[n - 1] ?? '';
  const { notices } = await ok(session.edit(path, [{ oldString: `${line}\n`, newString: `${line}!\n` }]));
  return notices;
}

/** The tests of claims, on one kind of store. A claim says on which file a session works. */
function suite(storeUrl: () => string | undefined): void {
  const desk = async (options: Partial<SessionOptions> = {}) => {
    const store = storeUrl();
    return { store, ...(await newDesk({ ...options, store })) };
  };

  describe('claims by changes', () => {
    async function two() {
      const t = await desk({ session: 'agent-9', client: 'codex' });
      await t.put('a.txt', TEXT);
      const other = await t.open({ session: 'agent-7' });
      await t.session.beginTurn({ turn: 'p1' });
      return { ...t, other };
    }

    /** Edits line `n` in `session`, and waits until `other` knows about the edit. */
    async function toldEdit(
      session: GatedSession,
      other: GatedSession,
      n: number,
    ): Promise<readonly Notice[]> {
      const notices = await editLine(session, n);
      await caughtUp(other, session);
      return notices;
    }

    it('the notice names a file of another root by its absolute path', async () => {
      const t = await desk({ session: 'one' });
      const roots = [t.root, t.outside];
      const [one, two] = [await t.open({ roots, session: 'a' }), await t.open({ roots, session: 'b' })];
      const path = `${t.outside}/a.txt`;
      await ok(one.write(path, TEXT));
      await caughtUp(two, one);
      expect(claimed(await noticesOfRead(two, path))).toMatchObject([{ path }]);
    });

    it('another session is notified of an edit at its first read of the file, with lines, client and open turn', async () => {
      const { session, other } = await two();
      await toldEdit(session, other, 4);
      await toldEdit(session, other, 5);
      const [notice, ...more] = claimed(await noticesOfRead(other, 'a.txt'));
      expect(more).toEqual([]);
      expect(notice && timeless(describeNotice(notice))).toBe(
        'Session agent-9 (codex) changed lines 4-5 of a.txt just now; its turn is still open. Read the file again right before you change it.',
      );
      expect(claimed(await noticesOfRead(other, 'a.txt'))).toEqual([]);
      expect(claimed(await editLine(other, 15))).toEqual([]);
    });

    it('the other session is notified again in its next turn; the editing session never is', async () => {
      const { session, other } = await two();
      await toldEdit(session, other, 4);
      expect(claimed(await editLine(session, 6))).toEqual([]);
      expect(claimed(await noticesOfRead(other, 'a.txt'))).toHaveLength(1);
      await other.beginTurn({ turn: 'q1' });
      expect(claimed(await noticesOfRead(other, 'a.txt'))).toHaveLength(1);
    });

    it('the other session is notified at its write if it read nothing in this turn', async () => {
      const { session, other } = await two();
      await ok(other.read('a.txt'));
      await toldEdit(session, other, 4);
      const { notices } = await ok(other.edit('a.txt', [{ oldString: 'line 12\n', newString: 'twelve\n' }]));
      expect(claimed(notices)).toHaveLength(1);
      // The session sees one notice: the diff of the other session's edit. The notice also says
      // that the other session's turn is still open.
      expect(notices.map((notice) => describeNotice(notice))).toEqual([
        expect.stringMatching(
          /^The file had been changed elsewhere by session agent-9 \(codex\), whose turn is still open, since it was read; [^\n]+:\n@@/,
        ),
      ]);
    });

    it.each<[string, (session: GatedSession) => Promise<unknown>]>([
      ['the next turn', (session) => session.beginTurn({ turn: 'p2' })],
      ['the end of the turn', (session) => session.endTurn()],
      ['being forgotten', (session) => session.forget()],
      ['the end of the session', (session) => session.close()],
    ])('a claim ends with %s', async (_what, end) => {
      const { session, other } = await two();
      await toldEdit(session, other, 4);
      expect(await other.claims()).toMatchObject([{ session: 'agent-9', client: 'codex', path: 'a.txt' }]);
      await end(session);
      await vi.waitFor(async () => expect(await other.claims()).toEqual([]), 100_000);
      expect(claimed(await noticesOfRead(other, 'a.txt'))).toEqual([]);
    });

    it('a refusal as STALE names session, client and turn', async () => {
      const { session, other } = await two();
      await ok(other.read('a.txt'));
      await toldEdit(session, other, 4);
      const edits = [{ oldString: 'line 4\n', newString: 'four\n' }];
      const stale = await refusal(other.edit('a.txt', edits), 'STALE');
      expect(stale.detail?.writer).toMatchObject({ session: 'agent-9', client: 'codex', turn: 'p1' });
      expect(timeless(explain(stale, { nowMs: Date.now() }))).toContain(
        'Session agent-9 (codex) changed it just now, in its turn p1.',
      );
    });
  });

  it('ends after ten minutes, also for a session without turns', async () => {
    let now = Date.now();
    const t = await desk({ session: 'one', now: () => now });
    await t.put('a.txt', TEXT);
    await editLine(t.session, 4);
    now += 10 * 60_000 - 1;
    expect(await t.session.claims()).toMatchObject([{ session: 'one', path: 'a.txt' }]);
    now += 1;
    expect(await t.session.claims()).toEqual([]);
  });

  it("a sub-agent's claims end with its parent's turn", async () => {
    const t = await desk({ session: 'one' });
    await t.put('a.txt', TEXT);
    const two = await t.open({ session: 'two' });
    await t.session.beginTurn({ turn: 'p1' });
    const worker = await t.session.subAgent('one/worker');
    await ok(worker.write('b.txt', 'new\n'));
    await vi.waitFor(
      async () => expect(await two.claims()).toMatchObject([{ session: 'one/worker' }]),
      100_000,
    );
    await t.session.beginTurn({ turn: 'p2' });
    await vi.waitFor(async () => expect(await two.claims()).toEqual([]), 100_000);
  });

  it('claims in another workspace are not listed', async () => {
    const t = await desk({ session: 'one' });
    const elsewhere = await t.open({ roots: [t.outside], session: 'far' });
    await ok(elsewhere.write('b.txt', 'new\n'));
    await ok(t.session.write('b.txt', 'new\n'));
    await caughtUp(t.session, t.session);
    expect((await t.session.claims()).map(({ session }) => session)).toEqual(['one']);
  });

  describe('the policy of claims', () => {
    it('refuse: a change of a file that another session has claimed is BUSY until the claim ends', async () => {
      const t = await desk({ session: 'one', policy: { claims: 'refuse' } });
      await t.put('a.txt', TEXT);
      const other = await t.open({ session: 'two' });
      await ok(other.read('a.txt'));
      await editLine(t.session, 4);
      await caughtUp(other, t.session);
      const edits = [{ oldString: 'line 12\n', newString: 'twelve\n' }];
      const busy = await refusal(other.edit('a.txt', edits), 'BUSY');
      expect(explain(busy, { nowMs: Date.now() })).toContain('another session is working on it [BUSY]');
      await editLine(t.session, 5);
      await t.session.endTurn();
      await vi.waitFor(async () => expect(await other.claims()).toEqual([]), 100_000);
      await ok(other.edit('a.txt', edits));
      await caughtUp(t.session, other);
      await refusal(t.session.edit('a.txt', [{ oldString: 'line 1\n', newString: 'one\n' }]), 'BUSY');
    });

    it('off: no session is notified', async () => {
      const t = await desk({ session: 'one', policy: { claims: 'off' } });
      await t.put('a.txt', TEXT);
      const other = await t.open({ session: 'two' });
      await editLine(t.session, 4);
      await caughtUp(other, t.session);
      expect(claimed(await noticesOfRead(other, 'a.txt'))).toEqual([]);
    });

    it('a session that works alone gets no notice, whatever it does', async () => {
      const t = await desk({ session: 'one' });
      const told: Notice[] = [];
      for (let n = 1; n <= 10; n++) {
        await t.session.beginTurn({ turn: `p${n}` });
        await t.put(`f${n % 3}.txt`, TEXT);
        told.push(
          ...(await noticesOfRead(t.session, `f${n % 3}.txt`)),
          ...(await editLine(t.session, n, `f${n % 3}.txt`)),
        );
      }
      expect(told).toEqual([]);
    });

    it('closing the workspace keeps claims if other processes continue the session', async () => {
      const t = await desk({ session: 'watcher' });
      await t.put('a.txt', TEXT);
      const sessions = await Sessions.open({ roots: [t.root], home: t.home, store: t.store });
      await editLine(await sessions.session('worker'), 3);
      await sessions.suspend();
      await vi.waitFor(async () => expect(await t.session.claims()).toHaveLength(1), 100_000);
    });
  });
}

describe('on SQLite', () => suite(() => undefined));

await describePostgres('on PostgreSQL', (server) => suite(() => server.url()));
