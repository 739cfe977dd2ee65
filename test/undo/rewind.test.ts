import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Records } from '../../src/records/records.ts';
import { rewindJob } from '../../src/records/rewind.ts';
import { Scope } from '../../src/records/scope.ts';
import { type TurnView, turnViews } from '../../src/records/turns.ts';
import { takeBack, undoJobs } from '../../src/records/undo-jobs.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

interface Rewinding extends Desk {
  readonly records: Records;
  turns(): Promise<TurnView[]>;
  rewind(
    turn: string,
    options?: { of?: 'everyone'; merge?: true; preview?: true },
  ): ReturnType<typeof takeBack>;
  /** `lookfirst undo` without arguments. */
  undoNewest(): Promise<void>;
}

async function rewinding(): Promise<Rewinding> {
  const t = await desk({ session: 'agent' });
  const place = { home: t.home, store: `sqlite:${join(t.home, 'lookfirst.db')}` };
  const records = await Records.open(place);
  const people = await Sessions.open({ roots: [t.root], home: t.home });
  onTestFinished(async () => {
    await records.close();
    await people.close();
  });
  const scope = new Scope({ cwd: t.root });
  const turns = (): Promise<TurnView[]> => turnViews(records, { scope });
  return {
    ...t,
    records,
    turns,
    rewind: async (name, { of, ...options } = {}) => {
      const [turn] = await turnViews(records, { scope, name });
      const job = turn && (await rewindJob(records, { turn, scope, of: of ?? 'session' }));
      return takeBack(people, { ...(job ?? expect.fail('nothing to take back')).selection, ...options });
    },
    undoNewest: async () => {
      const [job] = await undoJobs(records, { cwd: t.root });
      await ok(takeBack(people, (job ?? expect.fail('nothing to undo')).selection));
    },
  };
}

/** Two turns: the first changes a.txt, the second changes it again and creates new/b.txt. */
async function twoTurns(): Promise<Rewinding> {
  const t = await rewinding();
  await t.put('a.txt', 'one\n');
  await ok(t.session.read('a.txt'));
  await t.session.beginTurn({ turn: 'p1', prompt: 'first task' });
  await ok(t.session.write('a.txt', 'two\n'));
  await t.session.beginTurn({ turn: 'p2', prompt: 'second task' });
  await ok(t.session.write('a.txt', 'three\n'));
  await ok(t.session.write('new/b.txt', 'b\n'));
  return t;
}

describe('the list of turns', () => {
  it('shows the prompt and the changed files of each turn, newest first', async () => {
    const t = await twoTurns();
    expect(await t.turns()).toMatchObject([
      { turn: 'p2', prompt: 'second task', session: 'agent', files: ['a.txt', 'new/b.txt'], stands: true },
      { turn: 'p1', prompt: 'first task', session: 'agent', files: ['a.txt'], stands: true },
    ]);
  });

  it('includes changes of sub-agents, but not of forks and other sessions', async () => {
    const t = await twoTurns();
    const others = [await t.session.child(), await t.open({ session: 'agent/helper' })];
    for (const [i, session] of others.entries()) await ok(session.write(`sub${i}.txt`, 'x\n'));
    const strangers = [await t.session.fork(), await t.open({ session: 'agent-2' })];
    for (const [i, session] of strangers.entries()) await ok(session.write(`other${i}.txt`, 'x\n'));
    const [newest] = await t.turns();
    expect(newest?.files).toEqual(['a.txt', 'new/b.txt', 'sub0.txt', 'sub1.txt']);
  });

  it('counts a turn once for its limit, however many sub-agents name it', async () => {
    const t = await twoTurns();
    for (let i = 0; i < 9; i += 1) {
      const helper = await t.open({ session: `agent/helper-${i}` });
      await helper.beginTurn({ turn: 'p2' });
      await ok(helper.write(`sub${i}.txt`, 'x\n'));
    }
    const scope = new Scope({ cwd: t.root });
    const listed = async (limit: number): Promise<unknown> =>
      (await turnViews(t.records, { scope, limit })).map(({ turn, session }) => [turn, session]);
    expect(await listed(1)).toEqual([['p2', 'agent']]);
    expect(await listed(2)).toEqual([
      ['p2', 'agent'],
      ['p1', 'agent'],
    ]);
  });

  it('distinguishes turns with the same name in two sessions', async () => {
    const t = await twoTurns();
    const other = await t.open({ session: 'other' });
    await other.beginTurn({ turn: 'p2' });
    await ok(other.write('theirs.txt', 'x\n'));
    await ok(t.session.write('mine.txt', 'x\n'));
    const turns = await t.turns();
    expect(turns.map(({ session, files }) => [session, files])).toEqual([
      ['other', ['theirs.txt']],
      ['agent', ['a.txt', 'new/b.txt', 'mine.txt']],
      ['agent', ['a.txt']],
    ]);
  });

  it('shows a turn in every workspace where its session began it, and once if it shows several', async () => {
    const t = await twoTurns();
    const root = join(t.base, 'other');
    mkdirSync(root);
    const other = await t.open({ roots: [root] });
    await other.beginTurn({ turn: 'p1' });
    await ok(other.write('there.txt', 'x\n'));
    const namesOf = (turns: readonly TurnView[]): unknown => turns.map(({ turn, files }) => [turn, files]);
    expect(namesOf(await turnViews(t.records, { scope: new Scope({ cwd: root }) }))).toEqual([
      ['p1', ['there.txt']],
    ]);
    for (const session of [undefined, 'agent'])
      expect(
        namesOf(
          await turnViews(t.records, { scope: new Scope({ cwd: root, root: [root, t.root] }), session }),
        ),
      ).toEqual([
        ['p2', ['a.txt', 'new/b.txt']],
        ['p1', ['a.txt', 'there.txt']],
      ]);
  });
});

describe('a rewind', () => {
  it('restores files to their state when the turn began, as one change', async () => {
    const t = await twoTurns();
    const { taken } = await ok(t.rewind('p2'));
    expect(t.text('a.txt')).toBe('two\n');
    expect(existsSync(join(t.root, 'new'))).toBe(false);
    const made = await t.records.change(taken.result.change ?? '');
    expect(made).toMatchObject({ rewindTo: 'p2', undone: { changes: taken.result.undid } });
    expect((await t.turns())[0]).toMatchObject({ turn: 'p2', stands: false });
  });

  it('includes every later turn', async () => {
    const t = await twoTurns();
    await ok(t.rewind('p1'));
    expect(t.text('a.txt')).toBe('one\n');
    expect(existsSync(join(t.root, 'new'))).toBe(false);
  });

  it('can be undone, and repeated afterwards', async () => {
    const t = await twoTurns();
    await ok(t.rewind('p2'));
    await ok(t.rewind('p1'));
    await t.undoNewest();
    expect(t.text('a.txt')).toBe('two\n');
    await t.undoNewest();
    expect([t.text('a.txt'), t.text('new/b.txt')]).toEqual(['three\n', 'b\n']);
    await ok(t.rewind('p1'));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('in a dry run, shows what it would do and changes nothing', async () => {
    const t = await twoTurns();
    const { taken } = await ok(t.rewind('p1', { preview: true }));
    expect(taken.result.files.map(({ path }) => path)).toContain('a.txt');
    expect(taken.result.diff).toContain('+one');
    expect(t.text('a.txt')).toBe('three\n');
  });

  it('changes nothing if one file was changed since, unless both changes can be merged', async () => {
    const t = await rewinding();
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    await t.put('a.txt', lines.join('\n'));
    await ok(t.session.read('a.txt'));
    await t.session.checkpoint('here');
    await ok(t.session.edit('a.txt', [{ oldString: 'line 2\n', newString: 'mine\n' }]));
    await ok(t.session.write('b.txt', 'b\n'));
    // Close the session, which stores the text that it wrote. An open session stores the text a
    // moment later.
    await t.session.close();
    await t.put('a.txt', t.text('a.txt').replace('line 17', 'by hand'));
    await refusal(t.rewind('here'), 'STALE');
    expect(t.text('b.txt')).toBe('b\n');
    await ok(t.rewind('here', { merge: true }));
    expect(t.text('a.txt')).toBe(lines.join('\n').replace('line 17', 'by hand'));
    expect(existsSync(join(t.root, 'b.txt'))).toBe(false);
  });

  it('leaves other sessions’ files unchanged, or undoes the changes of all sessions', async () => {
    const t = await twoTurns();
    const other = await t.open({ session: 'other' });
    await ok(other.write('theirs.txt', 'x\n'));
    const child = await t.session.child();
    await ok(child.write('sub.txt', 'x\n'));
    await ok(t.rewind('p2'));
    expect([existsSync(join(t.root, 'theirs.txt')), existsSync(join(t.root, 'sub.txt'))]).toEqual([
      true,
      false,
    ]);
    await t.undoNewest();
    await ok(t.rewind('p2', { of: 'everyone' }));
    expect([existsSync(join(t.root, 'theirs.txt')), existsSync(join(t.root, 'sub.txt'))]).toEqual([
      false,
      false,
    ]);
  });

  it('restores a change that the session itself undid in the turn', async () => {
    const t = await twoTurns();
    const [second] = await t.turns();
    await t.session.beginTurn({ turn: 'p3' });
    await ok(t.session.undo({ change: second?.changes[0] ?? '' }));
    await ok(t.session.write('c.txt', 'c\n'));
    expect(t.text('a.txt')).toBe('two\n');
    await ok(t.rewind('p3'));
    expect([t.text('a.txt'), existsSync(join(t.root, 'c.txt'))]).toEqual(['three\n', false]);
    await t.undoNewest();
    expect([t.text('a.txt'), t.text('c.txt')]).toEqual(['two\n', 'c\n']);
  });

  it('ignores a change that the user has undone since', async () => {
    const t = await twoTurns();
    await t.undoNewest();
    expect(existsSync(join(t.root, 'new'))).toBe(false);
    await ok(t.rewind('p1'));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('is one change even if it covers several roots', async () => {
    const t = await rewinding();
    const both = await Sessions.open({ roots: [t.root, t.outside], home: t.home });
    onTestFinished(() => both.close());
    const session = await both.session('wide');
    await session.beginTurn({ turn: 'w' });
    await ok(session.write(join(t.root, 'a'), 'a'));
    await ok(session.write(join(t.outside, 'b'), 'b'));
    const scope = new Scope({ cwd: t.root, all: true });
    const [turn] = await turnViews(t.records, { scope, name: 'w' });
    const job = await rewindJob(t.records, { turn: turn ?? expect.fail(), scope, of: 'session' });
    expect(job?.roots).toEqual(expect.arrayContaining([t.root, t.outside]));
    await ok(takeBack(both, job?.selection ?? {}));
    expect([existsSync(join(t.root, 'a')), existsSync(join(t.outside, 'b'))]).toEqual([false, false]);
    const undos = (await t.records.store.entries({ kinds: ['change'] })).filter(({ rewindTo }) => rewindTo);
    expect(undos).toHaveLength(1);
  });
});
