import { createHash } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openJournal } from '../../src/records/open-journal.ts';
import type { PublicEntry } from '../../src/records/public-entry.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function newest(t: Desk, kind: PublicEntry['kind']): Promise<PublicEntry> {
  const journal = await openJournal({ home: t.home });
  try {
    for await (const entry of journal.entries({ kinds: [kind], limit: 1 })) return entry;
    return expect.fail(`no ${kind}`);
  } finally {
    await journal.close();
  }
}

describe('the journal entry of a refusal', () => {
  it('has the hash of the live bytes and of the content for a file that was never read', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
    const entry = await newest(t, 'refusal');
    expect(entry).toMatchObject({
      next: 'read',
      sha256: sha256('one\n'),
      sizeBytes: 4,
      content: sha256('two\n'),
    });
    expect(entry.seen).toBeUndefined();
  });

  it('has both hashes (seen and live) and the size of the diff for a stale write', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\n');
    await ok(t.session.read('a.txt'));
    await t.put('a.txt', 'one\n2\n');
    const { detail } = await refusal(t.session.write('a.txt', 'x\n'), 'STALE');
    const entry = await newest(t, 'refusal');
    expect(entry).toMatchObject({
      next: 'read_again',
      sha256: sha256('one\n2\n'),
      seen: { fingerprint: { sha256: sha256('one\ntwo\n'), size: 8 }, lines: 'whole' },
      content: sha256('x\n'),
      diffBytes: Buffer.byteLength(detail?.diff ?? ''),
    });
    expect(JSON.stringify(entry)).not.toContain('one');
  });

  it.each([
    ['an edit', (t: Desk) => t.session.edit('a.txt', [{ oldString: 'no such text', newString: 'y' }])],
    [
      'a vet',
      (t: Desk) =>
        t.session.vet({ kind: 'edit', path: 'a.txt', edits: [{ oldString: 'zz', newString: 'y' }] }),
    ],
  ])('has the lines that were seen for %s', async (_what, act) => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\nthree\n');
    await ok(t.session.read('a.txt', { offset: 2, limit: 1 }));
    await refusal(act(t), 'NO_MATCH');
    const entry = await newest(t, 'refusal');
    expect(entry).toMatchObject({ seen: { lines: '2-2' }, sha256: sha256('one\ntwo\nthree\n') });
    expect(entry.content).toMatch(/^[0-9a-f]{64}$/);
  });

  it('has no hash of a file that cannot be read', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    chmodSync(join(t.root, 'a.txt'), 0o200);
    await t.session.write('a.txt', 'two\n');
    const entry = await newest(t, 'refusal');
    if (process.getuid?.() === 0) expect(entry.sha256).toBe(sha256('one\n'));
    else expect(entry.sha256).toBeUndefined();
  });
});

it('has the number of lines of a file that was read', async () => {
  const t = await desk();
  await t.put('a.txt', 'one\ntwo\nthree\n');
  await ok(t.session.read('a.txt', { limit: 1 }));
  expect(await newest(t, 'read')).toMatchObject({ lines: '1-1', totalLines: 3 });
});

it('has the notices of a change that was merged with an outside change', async () => {
  const t = await desk();
  await t.put('a.txt', 'one\ntwo\nthree\nfour\nfive\n');
  await ok(t.session.read('a.txt'));
  await t.put('a.txt', 'one\ntwo\nthree\nfour\n5\n');
  await ok(t.session.edit('a.txt', [{ oldString: 'one', newString: '1' }]));
  const entry = await newest(t, 'change');
  expect(entry.notices).toEqual(['changed-elsewhere']);
  expect(entry.diffBytes).toBeGreaterThan(0);
});
