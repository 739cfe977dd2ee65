import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import { makeTree, type Scratch, scratch } from '../support/tree.ts';

interface Table extends Scratch {
  readonly sessions: Sessions;
  readonly ann: GatedSession;
  /**
   * Lets another program act just before a commit exchanges the old and the new file, at most
   * `times` times.
   */
  meet(times: number, act: () => void): void;
}

async function table(): Promise<Table> {
  const places = scratch();
  makeTree(places, ['a.txt: one\ntwo\nthree\nfour\nfive\n']);
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  onTestFinished(() => sessions.close());
  const ann = await sessions.session('ann');
  await ok(ann.read('a.txt'));
  const meet = (times: number, act: () => void): void => {
    let left = times;
    Object.assign(sessions.world.disk, {
      trace: (step: string) => {
        if (step !== 'exchange' || left === 0) return;
        left -= 1;
        act();
      },
    });
  };
  return { ...places, sessions, ann, meet };
}

function save(t: Table, text: string): void {
  writeFileSync(join(t.root, 'a.txt.new'), text);
  renameSync(join(t.root, 'a.txt.new'), join(t.root, 'a.txt'));
}

const edit = [{ oldString: 'two', newString: 'TWO' }];

describe('another program that changes the file at the moment of writing', () => {
  it.each([
    ['appends', (t: Table) => appendFileSync(join(t.root, 'a.txt'), 'six\n')],
    ['saves by rename', (t: Table) => save(t, `${readFileSync(join(t.root, 'a.txt'), 'utf8')}six\n`)],
  ])('%s elsewhere: the edit is prepared again, and both changes are in the file', async (_how, act) => {
    const t = await table();
    t.meet(2, () => act(t));
    await ok(t.ann.edit('a.txt', edit));
    expect(readFileSync(join(t.root, 'a.txt'), 'utf8')).toBe('one\nTWO\nthree\nfour\nfive\nsix\nsix\n');
  });

  it('does so repeatedly: the change is refused after a bounded number of tries', async () => {
    const t = await table();
    let saves = 0;
    t.meet(Number.POSITIVE_INFINITY, () => {
      saves += 1;
      save(t, `one\ntwo\nthree\nfour\nfive\n${saves}\n`);
    });
    await refusal(t.ann.edit('a.txt', edit), 'STALE');
    expect(saves).toBe(6);
  });

  it('is reported to the agent and in the journal, with copies of its saves, even if the change succeeded', async () => {
    const t = await table();
    t.meet(1, () => save(t, 'one\ntwo\nthree\nfour\nfive\ntheirs\n'));
    const { notices } = await ok(t.ann.edit('a.txt', edit));
    const met = notices.find((notice) => notice.kind === 'met-save');
    const copy = met?.kind === 'met-save' ? met.kept[0] : '';
    expect(readFileSync(copy ?? '', 'utf8')).toContain('theirs');
    const [entry] = await t.sessions.world.store.entries({ kinds: ['notice'] });
    expect(entry).toMatchObject({
      path: 'a.txt',
      session: 'ann',
      text: expect.stringContaining(copy ?? '-'),
    });
  });

  it('is reported even if the change was refused, and the refusal shows the diff', async () => {
    const t = await table();
    t.meet(1, () => save(t, 'one\n2\nthree\n'));
    const { detail } = await refusal(t.ann.edit('a.txt', edit), 'STALE');
    expect(detail?.kept).toHaveLength(1);
    expect(detail?.diff).toContain('+2');
    expect(await t.sessions.world.store.entries({ kinds: ['notice'] })).toHaveLength(1);
  });
});
