import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { ok } from '../support/desk.ts';
import { prepareTree } from '../support/killable.ts';
import { IN_MEMORY, type Scratch, scratch, treeOf } from '../support/tree.ts';

function prepared(): Scratch {
  const places = scratch(IN_MEMORY);
  prepareTree(places.root);
  return places;
}

async function killWhen(places: Scratch, scene: string, moment: string): Promise<void> {
  const child = await startChild('session-killed', { ...places, scene, moment });
  expect((await child.exit()).signal, 'the scene was over').toBe('SIGKILL');
}

async function start({ root, home }: Scratch): Promise<Sessions> {
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  return sessions;
}

function text(root: string, name: string): string {
  return readFileSync(join(root, name), 'utf8');
}

describe('a change whose process died in the middle', () => {
  it('is reverted except for files that another program has written since, and the journal says so', async () => {
    const places = prepared();
    await killWhen(places, 'a batch', 'the new file is there');
    const { root } = places;
    expect(text(root, 'a.txt')).toBe('one\nTWO\n');
    writeFileSync(join(root, 'a.txt'), 'by hand\n');
    const sessions = await start(places);
    expect(text(root, 'a.txt')).toBe('by hand\n');
    expect(existsSync(join(root, 'new/deep/c.txt'))).toBe(false);
    expect(text(root, 'b.txt')).toBe('b\n');
    const [entry] = await sessions.world.store.entries({ kinds: ['change'] });
    expect(entry).toMatchObject({ recovered: true, session: 'ann' });
    expect(entry?.deltas?.map(({ relative }) => relative)).toEqual(['a.txt']);
  });

  it('is settled once, even if another process that found it earlier tries later', async () => {
    const places = prepared();
    const late = await start(places);
    const session = await late.session('late');
    await killWhen(places, 'a recursive delete', 'the folder is gone');

    const { locks } = late.world;
    const acquire = locks.acquire.bind(locks);
    let calls = 0;
    Object.assign(locks, {
      acquire: async (...wanted: Parameters<typeof acquire>) => {
        calls += 1;
        // With its second lock, this process has found an unfinished change and is about to record
        // its outcome. Let another process do so first and make a change of its own.
        if (calls === 2) {
          const fast = await start(places);
          await ok((await fast.session('fast')).write('d/f.txt', 'new\n'));
        }
        return acquire(...wanted);
      },
    });
    await ok(session.write('d/x.txt', 'x\n'));
    expect(calls).toBeGreaterThan(2);
    expect(treeOf(join(places.root, 'd'))).toEqual(['f.txt: new\n', 'x.txt: x\n']);
    const changes = await late.world.store.entries({ kinds: ['change'] });
    expect(changes.map(({ session }) => session)).toEqual(['late', 'fast', 'ann']);
  });
});
