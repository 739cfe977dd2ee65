import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { desk } from '../support/desk.ts';
import { Hooked } from '../support/hooked.ts';
import { scratch } from '../support/tree.ts';

const TEXT = 'one\ntwo\nthree\n';
const bigEndian = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

/** A file, the text of it that a host shows, and the verdict on a write of the file. */
interface Case {
  readonly what: string;
  readonly file: Buffer;
  readonly text: string;
  readonly code: string;
}

const SHOWN: readonly Case[] = [
  {
    what: 'UTF-8 with a byte order mark, shown without it',
    file: Buffer.from(`\ufeff${TEXT}`),
    text: TEXT,
    code: 'allowed',
  },
  {
    what: 'UTF-8 with a byte order mark, shown with it',
    file: Buffer.from(`\ufeff${TEXT}`),
    text: `\ufeff${TEXT}`,
    code: 'allowed',
  },
  { what: 'UTF-16, decoded', file: Buffer.from(`\ufeff${TEXT}`, 'utf16le'), text: TEXT, code: 'allowed' },
  {
    what: 'UTF-16 with CRLF, decoded',
    file: Buffer.from('\ufeffone\r\ntwo\r\n', 'utf16le'),
    text: 'one\ntwo\n',
    code: 'allowed',
  },
  {
    what: 'UTF-16 of the other byte order, decoded',
    file: bigEndian(`\ufeff${TEXT}`),
    text: TEXT,
    code: 'allowed',
  },
  // These hosts read every file as UTF-8, and would write it back damaged.
  {
    what: 'UTF-16, shown as if it were UTF-8',
    file: Buffer.from(TEXT, 'utf16le'),
    text: Buffer.from(TEXT, 'utf16le').toString(),
    code: 'NOT_TEXT',
  },
  {
    what: 'Latin-1, shown with replacement characters',
    file: Buffer.from('caf\xe9\n', 'latin1'),
    text: 'caf\ufffd\n',
    code: 'NOT_TEXT',
  },
  {
    what: 'UTF-16 that has changed since',
    file: Buffer.from(`\ufeff${TEXT}new\n`, 'utf16le'),
    text: TEXT,
    code: 'STALE',
  },
  {
    what: 'UTF-8 with a byte order mark that has changed since',
    file: Buffer.from(`\ufeff${TEXT}new\n`),
    text: TEXT,
    code: 'STALE',
  },
];

it.each(SHOWN)('through hooks, a file in $what: a write is $code', async ({ file, text, code }) => {
  const places = scratch();
  const path = join(places.root, 'a.txt');
  writeFileSync(path, file);
  const agent = new Hooked(places);
  await agent.read('a.txt', text);
  const answer = await agent.change('write', { path: 'a.txt', content: 'new\n' }, () => undefined);
  expect(answer.verdict === 'deny' ? /\[([A-Z_]+)\]/.exec(answer.reason ?? '')?.[1] : 'allowed').toBe(code);
});

it.each(SHOWN)(
  'in the library, a witnessed file in $what: a write is $code',
  async ({ file, text, code }) => {
    const t = await desk({ store: 'memory:' });
    await t.put('a.txt', file);
    await t.session.witness({ kind: 'read', path: 'a.txt', content: text });
    const outcome = await t.session.vet({ kind: 'write', path: 'a.txt', content: 'new\n' });
    expect(outcome.ok ? 'allowed' : outcome.refusal.code).toBe(code);
  },
);
