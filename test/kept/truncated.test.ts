import { closeSync, openSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

const CHANGES: Readonly<Record<string, (session: GatedSession) => Promise<Outcome<object>>>> = {
  write: (session) => session.write('a.txt', 'mine\n'),
  batch: (session) => session.apply([{ kind: 'write', path: 'a.txt', content: 'mine\n' }]),
  delete: (session) => session.delete('a.txt'),
  'move onto it': (session) => session.move('b.txt', 'a.txt'),
};

async function withFile(): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'version 1\n');
  await t.put('b.txt', 'b\n');
  return t;
}

/** Acts as an editor that has truncated the file and has not written yet. */
function truncate(t: Desk): number {
  const fd = openSync(join(t.root, 'a.txt'), 'w');
  onTestFinished(() => closeSync(fd));
  return fd;
}

describe.each(Object.entries(CHANGES))('while an editor saves by truncating: %s', (_name, change) => {
  it('is refused to a session that has seen the earlier bytes', async () => {
    const t = await withFile();
    await ok(t.session.read('a.txt'));
    const fd = truncate(t);
    await refusal(change(t.session), 'STALE');
    writeSync(fd, 'version 2\n');
    expect(t.text('a.txt')).toBe('version 2\n');
  });

  it('is refused to a session that has not read the file, once the editor has written', async () => {
    const t = await withFile();
    const fd = truncate(t);
    const changing = change(t.session);
    setTimeout(() => writeSync(fd, 'version 2\n'), 20);
    await refusal(changing, 'NOT_READ');
    expect(t.text('a.txt')).toBe('version 2\n');
  });

  it('is allowed on a file that has been empty for a while', async () => {
    const t = await withFile();
    writeFileSync(join(t.root, 'a.txt'), '');
    utimesSync(join(t.root, 'a.txt'), 1_000_000, 1_000_000);
    await ok(change(t.session));
  });
});

it('a file that was emptied and stays empty needs no read', async () => {
  const t = await withFile();
  truncate(t);
  await ok(t.session.write('a.txt', 'mine\n'));
});
