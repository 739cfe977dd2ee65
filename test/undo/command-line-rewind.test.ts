import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { type Desk, desk, ok } from '../support/desk.ts';

/** Two turns of one session: the first changes a.txt, the second changes it again and creates b.txt. */
async function twoTurns(): Promise<Desk> {
  const t = await desk({ session: 'agent-7' });
  await t.put('a.txt', 'one\n');
  await ok(t.session.read('a.txt'));
  await t.session.beginTurn({ turn: 'p1', prompt: 'first task', promptNumber: 1 });
  await ok(t.session.write('a.txt', 'two\n'));
  await t.session.beginTurn({ turn: 'p2', prompt: 'second \u001b[31mtask', promptNumber: 2 });
  await ok(t.session.write('a.txt', 'three\n'));
  await ok(t.session.write('b.txt', 'b\n'));
  await t.session.close();
  return t;
}

describe('lookfirst rewind', () => {
  it('lists the turns with the files each changed', async () => {
    const t = await twoTurns();
    const { code, stdout } = await lookfirst(t, ['rewind']);
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.replace(/^\S+ *\S* +(?=p\d)/, ''))).toEqual([
      expect.stringMatching(/^WHEN +TURN +SESSION +PROMPT +FILES$/),
      expect.stringMatching(/^p2 +agent-7 +second \[31mtask +a\.txt, b\.txt$/),
      expect.stringMatching(/^p1 +agent-7 +first task +a\.txt$/),
      '',
    ]);
    expect(objects(await lookfirst(t, ['rewind', '--json', '--limit', '1']))).toEqual([
      {
        turn: 'p2',
        prompt: 'second [31mtask',
        promptNumber: 2,
        session: 'agent-7',
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        files: ['a.txt', 'b.txt'],
        changes: [expect.stringMatching(/^c[0-9a-f]{10}$/), expect.stringMatching(/^c[0-9a-f]{10}$/)],
        stands: true,
      },
    ]);
  });

  it('previews, returns to a turn, and can be undone', async () => {
    const t = await twoTurns();
    const preview = await lookfirst(t, ['rewind', 'p2', '--dry-run']);
    expect(preview.stdout).toMatch(/^would take back 2 changes:\n/);
    expect(preview.stdout).toMatch(/-three\n\+two/);
    expect(t.text('a.txt')).toBe('three\n');
    const done = await lookfirst(t, ['rewind', 'p2']);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toBe(
      'returned to the beginning of turn p2: took back 2 changes:\n' +
        '  removed     b.txt\n  restored    a.txt\nlookfirst undo takes the rewind back\n',
    );
    expect([t.text('a.txt'), existsSync(join(t.root, 'b.txt'))]).toEqual(['two\n', false]);
    expect((await lookfirst(t, ['log', '--limit', '1'])).stdout).toMatch(/rewind \(2 files\)/);
    expect((await lookfirst(t, ['undo'])).code).toBe(0);
    expect([t.text('a.txt'), t.text('b.txt')]).toEqual(['three\n', 'b\n']);
  });

  it('ends with 2 and changes nothing if a file was changed since or the turn does not exist', async () => {
    const t = await twoTurns();
    await t.put('a.txt', 'by hand\n');
    const refused = await lookfirst(t, ['rewind', 'p2']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('[STALE]');
    expect([t.text('a.txt'), t.text('b.txt')]).toEqual(['by hand\n', 'b\n']);
    const unknown = await lookfirst(t, ['rewind', 'p9', '--json']);
    expect(unknown.code).toBe(2);
    expect(objects(unknown)).toMatchObject([{ ok: false, code: 'NOT_FOUND' }]);
  });

  it('asks for --session if two sessions have a turn of that name', async () => {
    const t = await twoTurns();
    const other = await t.open({ session: 'other' });
    await other.beginTurn({ turn: 'p2' });
    await ok(other.write('c.txt', 'c\n'));
    await other.close();
    const refused = await lookfirst(t, ['rewind', 'p2']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/several turns are named p2.*--session/s);
    expect((await lookfirst(t, ['rewind', 'p2', '--session', 'other'])).code).toBe(0);
    expect([existsSync(join(t.root, 'c.txt')), t.text('b.txt')]).toEqual([false, 'b\n']);
    const again = await lookfirst(t, ['rewind', 'p2', '--session', 'other']);
    expect(again).toMatchObject({ code: 0, stderr: 'nothing was changed since that turn began\n' });
  });
});
