import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../src/model/session.ts';
import { openSession } from '../../src/session/sessions.ts';
import { setLimits } from '../support/limits.ts';
import { scratch } from '../support/tree.ts';

let root: string;
let session: Session;

beforeEach(async () => {
  const { root: folder, home } = scratch();
  root = folder;
  setLimits({ hugeBytes: 1000, maxLineChars: 60 });
  session = await openSession({ roots: [root], home, store: 'memory:' });
});
afterEach(() => session.close());

describe('pages of a UTF-16 file over `hugeBytes`', () => {
  const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;
  // U+0A0A, U+0A00 and U+010A contain the byte of a newline.
  const text = `${'é filler\r\n'.repeat(500)}key ${token} \u0a0a\u010a\n\u0a00\u000d\u0a0a x\nlast`;
  const beginning = (content: string) => Buffer.from(`\ufeff${content}`, 'utf16le');

  it.each([
    ['utf-16le', beginning(text)],
    ['utf-16be', beginning(text).swap16()],
    ['utf-16le', Buffer.from(text, 'utf16le')],
  ])('are decoded and masked: %s', async (encoding, content) => {
    writeFileSync(join(root, 'a.log'), content);
    const first = await session.read('a.log', { limit: 2 });
    expect(first).toMatchObject({ ok: true, text: 'é filler\né filler', encoding, complete: false });
    const masked = 'key [masked] \u0a0a\u010a';
    const read = await session.read('a.log', { offset: 501 });
    expect(read).toMatchObject({ text: `${masked}\n\u0a00\u000d\u0a0a x\nlast`, encoding, totalLines: 503 });
    expect(await session.read('a.log', { last: 1 })).toMatchObject({ from: 503, text: 'last' });
    const raw = await session.read('a.log', { offset: 501, limit: 1, raw: true });
    if (!raw.ok) throw new Error(raw.refusal.code);
    const bytes = Buffer.from(raw.bytes ?? []);
    if (encoding === 'utf-16be') bytes.swap16();
    expect([raw.text, bytes.toString('utf16le')]).toEqual([`${masked}\n`, `${masked}\n`]);
  });

  it('mask the values of a secret file, and cut long lines', async () => {
    const rest = '# pad\n'.repeat(999);
    writeFileSync(join(root, '.env'), beginning(`PASSWORD=hunter2hunter2\n#${'z'.repeat(5000)}\n${rest}`));
    const read = await session.read('.env', { limit: 2 });
    const text = `PASSWORD=[masked]\n#${'z'.repeat(59)}… [+4941 characters]`;
    expect(read).toMatchObject({ ok: true, text, clamped: [2] });
  });

  it('do not count as seen text', async () => {
    writeFileSync(join(root, 'a.log'), beginning('plain\n'.repeat(999)));
    await session.read('a.log');
    expect(await session.write('a.log', 'x')).toMatchObject({ ok: false });
  });
});

it('pages of a windows-1252 file over `hugeBytes` are decoded', async () => {
  writeFileSync(join(root, 'a.log'), Buffer.from('déjà vu, café, élève, été\r\n'.repeat(99), 'latin1'));
  const read = await session.read('a.log', { offset: 5, limit: 2 });
  const text = 'déjà vu, café, élève, été\ndéjà vu, café, élève, été';
  expect(read).toMatchObject({ ok: true, text, encoding: 'windows-1252' });
});
