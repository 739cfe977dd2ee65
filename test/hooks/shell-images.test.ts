import { chmodSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { asNobody, giveAway } from '../support/nobody.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
const path = (name: string): string => join(places.root, name);

async function changes(): Promise<Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
}

beforeEach(() => {
  places = scratch();
  writeFileSync(path('a.txt'), 'one\n');
});

describe('a shell command without a layer', () => {
  it('may run although the session has seen a file that may no longer be read', async () => {
    giveAway(places.base, places.root, places.home, path('a.txt'));
    await asNobody(async () => {
      const agent = new Hooked(places);
      await agent.read('a.txt', 'one\n');
      chmodSync(path('a.txt'), 0);
      expect(await agent.shell('chmod 644 a.txt')).toMatchObject({ verdict: 'pass' });
      expect(await agent.shell('echo two > a.txt')).toMatchObject({ verdict: 'pass' });
    });
    expect(readFileSync(path('a.txt'), 'utf8')).toBe('two\n');
  });

  it('is recorded although a seen file became a FIFO', async () => {
    writeFileSync(path('b.txt'), 'one\n');
    const agent = new Hooked(places);
    for (const name of ['a.txt', 'b.txt']) await agent.read(name, 'one\n');
    await agent.shell('rm a.txt && mkfifo a.txt && echo two >> b.txt');
    expect(await changes()).toMatchObject([{ effects: [{ relative: 'b.txt' }] }]);
  });

  it('is not delayed by a very large file that git does not know', { timeout: 60_000 }, async () => {
    writeFileSync(path('large'), '');
    truncateSync(path('large'), 2 ** 40);
    const begun = Date.now();
    expect(await new Hooked(places).shell('true')).toMatchObject({ verdict: 'pass' });
    expect(Date.now() - begun).toBeLessThan(20_000);
  });
});
