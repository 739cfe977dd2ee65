import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../src/model/session.ts';
import { openJournal } from '../../src/records/open-journal.ts';
import { explain } from '../../src/report/explain.ts';
import { openSession } from '../../src/session/sessions.ts';
import { setLimits } from '../support/limits.ts';
import { scratch } from '../support/tree.ts';

const ENV = '# settings\nTOKEN=very-private\nNAME="also private"\n';

let root: string;
let home: string;
let session: Session;

beforeEach(async () => {
  ({ root, home } = scratch());
  writeFileSync(join(root, '.env'), ENV);
  mkdirSync(join(root, 'src'));
  session = await openSession({ roots: [root], home, store: 'memory:' });
});
afterEach(() => session.close());

async function reopened(secrets: 'refuse' | 'show'): Promise<void> {
  await session.close();
  session = await openSession({ roots: [root], home, store: 'memory:', policy: { secrets } });
}

describe('a secret file', () => {
  it('is shown with its values masked, line by line', async () => {
    const read = await session.read('.env');
    if (!read.ok) throw new Error(read.refusal.code);
    expect(read.text).toBe('# settings\nTOKEN=[masked]\nNAME="[masked]"');
    expect(read.complete).toBe(false);
    expect(read.revision).toBeUndefined();
  });

  it('is masked in dry runs, and an edit of a masked value says why it is refused', async () => {
    const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;
    writeFileSync(join(root, 'a.txt'), `key ${token}\nplain\n`);
    for (const path of ['.env', 'a.txt']) await session.read(path);
    const edit = (path: string, oldString: string) =>
      ({ kind: 'edit', path, edits: [{ oldString, newString: 'x' }] }) as const;
    const changes = [edit('.env', '# settings'), edit('a.txt', 'plain')];
    const dry = JSON.stringify(await session.apply(changes, { dryRun: true }));
    expect(dry).toContain('-plain');
    expect(dry).not.toMatch(/very-private|also private|ghp_/);
    for (const { path, edits } of [edit('.env', 'TOKEN=[masked]'), edit('a.txt', 'key [masked]')]) {
      const refused = await session.edit(path, edits);
      if (refused.ok) throw new Error('not refused');
      expect(refused.refusal.code).toBe('REDACTED_READ');
      const text = explain(refused.refusal, { nowMs: 0 });
      expect(text).toContain('The text to replace holds a masked value.');
      expect(text).toContain('ask the user to change the value itself');
    }
  });

  it('with a token may be edited where its text contains the word [masked] itself', async () => {
    const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;
    writeFileSync(join(root, 'a.txt'), `key ${token}\nreads show [masked]\n`);
    await session.read('a.txt');
    const edits = [{ oldString: 'reads show [masked]', newString: 'reads mask it' }];
    expect(await session.edit('a.txt', edits)).toMatchObject({ ok: true });
  });

  it('cannot be overwritten after a masked read', async () => {
    await session.read('.env');
    expect(await session.write('.env', 'TOKEN=[masked]\n')).toMatchObject({ ok: false });
    const refused = await session.write('.env', 'TOKEN=new\n');
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'REDACTED_READ' } });
    expect(readFileSync(join(root, '.env'), 'utf8')).toBe(ENV);
  });

  it.each([
    ['an edit beside it', () => session.edit('.env', [{ oldString: '# settings', newString: '# [masked]' }])],
    ['an insert', () => session.insert('.env', 'NEW=[masked]\n', { afterLine: 1 })],
    ['an append', () => session.append('.env', 'NEW=[masked]\n')],
    ['a write', () => session.write('.env', ENV.replace('very-private', '[masked]'))],
  ])('takes no mask as new text: %s', async (what, change) => {
    await session.read('.env');
    const refused = await change();
    if (refused.ok) throw new Error('not refused');
    expect(refused.refusal.code).toBe('REDACTED_READ');
    const text = explain(refused.refusal, { nowMs: 0 });
    if (what !== 'a write') expect(text).toContain('the new text contains a mask instead of the real value');
    expect(readFileSync(join(root, '.env'), 'utf8')).toBe(ENV);
  });

  it('is the only kind of file in which [masked] is not ordinary text', async () => {
    writeFileSync(join(root, 'notes.md'), 'one\ntwo\n');
    await session.read('notes.md');
    const edits = [{ oldString: 'two', newString: 'reads show [masked]' }];
    expect(await session.edit('notes.md', edits)).toMatchObject({ ok: true });
    expect(await session.append('notes.md', 'and [masked]\n')).toMatchObject({ ok: true });
    expect(await session.write('notes.md', 'TOKEN=[masked]\n')).toMatchObject({ ok: true });
    expect(readFileSync(join(root, 'notes.md'), 'utf8')).toBe('TOKEN=[masked]\n');
  });

  it('accepts edits and appends beside the masked values', async () => {
    await session.read('.env');
    expect(
      await session.edit('.env', [{ oldString: '# settings', newString: '# our settings' }]),
    ).toMatchObject({ ok: true });
    expect(await session.append('.env', 'NEW=1\n')).toMatchObject({ ok: true });
    expect(readFileSync(join(root, '.env'), 'utf8')).toBe(
      `# our settings\nTOKEN=very-private\nNAME="also private"\nNEW=1\n`,
    );
  });

  it.each(['TOKEN=very-private', 'TOKEN=a wrong guess', 'TOKEN=[masked]', 'very-private'])(
    'gives the same answer to right and wrong guesses of a value: %s',
    async (oldString) => {
      await session.read('.env');
      const refused = await session.edit('.env', [{ oldString, newString: 'x' }]);
      expect(refused).toMatchObject({ ok: false, refusal: { code: 'REDACTED_READ' } });
    },
  );

  const edit = (oldString: string, newString: string) => session.edit('new/.env', [{ oldString, newString }]);
  const REDACTED = { ok: false, refusal: { code: 'REDACTED_READ' } };

  it('may be edited by the session that wrote it, and by no other session', async () => {
    await session.write('new/.env', 'TOKEN=abc\nX=1\n');
    expect(await edit('X=1', 'X=2')).toMatchObject({ ok: true });
    expect(await edit('TOKEN=abc', 'TOKEN=def')).toMatchObject({ ok: true });
    expect(readFileSync(join(root, 'new/.env'), 'utf8')).toBe('TOKEN=def\nX=2\n');
    const other = await openSession({ roots: [root], home, store: 'memory:', session: 'other' });
    await other.read('new/.env');
    const guess = await other.edit('new/.env', [{ oldString: 'X=2', newString: 'X=3' }]);
    expect(guess).toMatchObject(REDACTED);
    await other.close();
    await session.read('new/.env');
    expect(await edit('X=2', 'X=3')).toMatchObject({ ok: true });
    writeFileSync(join(root, 'new/.env'), 'TOKEN=ghi\nX=3\n');
    await session.read('new/.env');
    for (const guess of ['TOKEN=ghi', 'TOKEN=wrong', 'X=3'])
      expect(await edit(guess, 'x')).toMatchObject(REDACTED);
  });

  it('may not be edited after another program added a value, however the session learned of it', async () => {
    const change = async (added: string) => {
      await session.write('new/.env', '# a\n# b\n# c\nX=1\n');
      writeFileSync(join(root, 'new/.env'), `# a\n# b\n# c\nX=1\n${added}`);
    };
    await change('S=user-value\n');
    for (const guess of ['S=user-value', 'S=wrong', 'user-value'])
      expect(await edit(guess, 'S=2')).toMatchObject({ ok: false });
    expect(await edit('# a', '# A')).toMatchObject({ ok: true, notices: [{ kind: 'changed-elsewhere' }] });
    for (const guess of ['S=user-value', 'S=wrong', 'X=1'])
      expect(await edit(guess, 'S=2')).toMatchObject(REDACTED);
    await session.append('new/.env', 'Y=1\n');
    for (const guess of ['S=user-value', 'S=wrong', 'Y=1'])
      expect(await edit(guess, 'S=2')).toMatchObject(REDACTED);
    expect(readFileSync(join(root, 'new/.env'), 'utf8')).toBe('# A\n# b\n# c\nX=1\nS=user-value\nY=1\n');
  });

  it('may not be edited by a session that only appended to it', async () => {
    mkdirSync(join(root, 'new'));
    writeFileSync(join(root, 'new/.env'), 'S=user-value\n');
    await session.append('new/.env', 'Y=1\n');
    const answers = [];
    for (const guess of ['S=user-value', 'S=wrong']) answers.push(await edit(guess, 'S=2'));
    await session.read('new/.env');
    for (const guess of ['S=user-value', 'S=wrong', 'Y=1']) answers.push(await edit(guess, 'S=2'));
    const codes = answers.map((answer) => (answer.ok ? 'ok' : answer.refusal.code));
    expect(codes).toEqual(['NOT_READ', 'NOT_READ', 'REDACTED_READ', 'REDACTED_READ', 'REDACTED_READ']);
  });

  it('is refused as NOT_READ before it was read, like any other file', async () => {
    const refused = await session.edit('.env', [{ oldString: 'TOKEN=very-private', newString: 'x' }]);
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
  });

  it('is masked in searches and in the diff of a refusal', async () => {
    const found = await session.search('TOKEN', { path: '.env' });
    if (!found.ok) throw new Error(found.refusal.code);
    expect(found.hits.map(({ text }) => text)).toEqual(['TOKEN=[masked]']);
    await session.read('.env');
    writeFileSync(join(root, '.env'), `${ENV}OTHER=secret-too\n`);
    const refused = await session.write('.env', 'x\n');
    expect(JSON.stringify(refused)).not.toMatch(/very-private|also private|secret-too/);
  });

  it('is refused or shown unmasked if the policy says so', async () => {
    await reopened('refuse');
    expect(await session.read('.env')).toMatchObject({ ok: false, refusal: { code: 'PROTECTED' } });
    await reopened('show');
    expect(await session.read('.env')).toMatchObject({ ok: true, text: ENV.trimEnd() });
  });
});

it('a token in an ordinary file is masked, and the rest of the file can be edited', async () => {
  const token = `ghp_${'a'.repeat(36)}`;
  writeFileSync(join(root, 'src/a.ts'), `const key = '${token}';\nconst b = 1;\n`);
  const read = await session.read('src/a.ts');
  expect(read).toMatchObject({ ok: true, text: "const key = '[masked]';\nconst b = 1;" });
  expect(await session.edit('src/a.ts', [{ oldString: 'b = 1', newString: 'b = 2' }])).toMatchObject({
    ok: true,
  });
  expect(readFileSync(join(root, 'src/a.ts'), 'utf8')).toContain(token);
});

it('lines without a secret are shown unchanged', async () => {
  const read = await session.read('.env', { offset: 1, limit: 1 });
  expect(read).toMatchObject({ ok: true, text: '# settings' });
});

it.each([
  ['a token', `key = ghp_${'a1B2'.repeat(9)}\n`, 'key = [masked]'],
  ['a private key', '-----BEGIN EC PRIVATE KEY-----\nabc\nabc\n', '-----BEGIN EC PRIVATE KEY-----'],
])('pages of a file with %s are masked, whichever is read first', async (_, secret, shown) => {
  const filler = 'nothing of interest\n'.repeat(50);
  for (const [name, offsets] of Object.entries({ up: [1, 51, 52, 60], down: [60, 52, 51, 1] })) {
    writeFileSync(join(root, name), `\ufeff${filler}${secret}${filler}`);
    const texts = new Map<number, string>();
    for (const offset of offsets) {
      const read = await session.read(name, { offset, limit: 1 });
      if (read.ok) texts.set(offset, read.text);
    }
    // A private key without an end line is masked up to the end of the file.
    const after = secret.includes('abc') ? '[masked]' : 'nothing of interest';
    expect(Object.fromEntries(texts)).toEqual({ 1: 'nothing of interest', 51: shown, 52: after, 60: after });
  }
});

it('a page of a huge file is masked', async () => {
  const token = `ghp_${'a'.repeat(36)}`;
  await session.close();
  setLimits({ hugeBytes: 1000 });
  session = await openSession({ roots: [root], home, store: 'memory:' });
  writeFileSync(join(root, 'huge.log'), `${'x\n'.repeat(999)}${token}\n`);
  const read = await session.read('huge.log', { offset: 998 });
  expect(read).toMatchObject({ ok: true, text: 'x\nx\n[masked]' });
});

it.each([20, 2000])('secrets where lines of a huge file are cut at %i are masked', async (maxLineChars) => {
  const key = 'd8xE8dyVdrqDhmJzn9JAt0qxAPtwmdxC6xzNZjSS';
  await session.close();
  setLimits({ hugeBytes: 1000, maxLineChars });
  session = await openSession({ roots: [root], home, store: 'memory:' });
  // The cut falls inside the key. CJK characters have three bytes each.
  const start = '語'.repeat(maxLineChars - 15);
  const line = (value: string) => `${start}${value}${'y'.repeat(9000)}\n`;
  writeFileSync(join(root, 'huge.log'), `x\n${line(` ghp_${key.slice(0, 36)} `)}${line('y')}`);
  const read = await session.read('huge.log');
  if (!read.ok) throw new Error(read.refusal.code);
  expect(read.clamped).toEqual([2, 3]);
  expect(read.text).toContain(`${start} [masked] yyyyy… [+`);
  expect(read.text).not.toContain('ghp_');
});

it.each([undefined, true])(
  'a page that begins inside a key in a huge file is masked: raw %s',
  async (raw) => {
    const lines = [
      'MIGcRZA9qZ6EfuIJXh7FTYm6EFa0BuHG3zS8AnhH9JF2Twhtw1zBGjI07QU6yEAs',
      'Z1zAPlDAWgGyRA1WehYexZ7Oaw7oddKZEJfP5qfzV5JhRpB9vpgGdGTbz87k7UQr',
    ].join('\n');
    await session.close();
    setLimits({ hugeBytes: 1000 });
    session = await openSession({ roots: [root], home, store: 'memory:' });
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${lines}\n-----END RSA PRIVATE KEY-----\n`;
    writeFileSync(join(root, 'huge.log'), `a\n${key}${'x\n'.repeat(999)}`);
    const read = await session.read('huge.log', { offset: 3, limit: 2, raw });
    if (!read.ok) throw new Error(read.refusal.code);
    expect(read.text.trimEnd()).toBe('[masked]\n[masked]');
    if (raw) expect(Buffer.from(read.bytes ?? []).toString()).toBe('[masked]\n[masked]\n');
    expect(read.complete).toBe(false);
  },
);

it('the lines that a refusal quotes are masked', async () => {
  const token = `ghp_${'a'.repeat(36)}`;
  writeFileSync(join(root, 'a.ts'), `const before = 1;\nconst key = '${token}';\nconst after = 1;\n`);
  await session.read('a.ts');
  const missed = await session.edit('a.ts', [{ oldString: 'const befor = 1;', newString: 'x' }]);
  expect(missed).toMatchObject({ ok: false, refusal: { code: 'NO_MATCH' } });
  const twice = await session.edit('a.ts', [{ oldString: 'const', newString: 'let' }]);
  expect(twice).toMatchObject({ ok: false, refusal: { code: 'AMBIGUOUS_MATCH' } });
  expect(JSON.stringify([missed, twice])).not.toContain(token);
});

describe('a refused edit beside a private key', () => {
  const lines = [
    'MIGcRZA9qZ6EfuIJXh7FTYm6EFa0BuHG3zS8AnhH9JF2Twhtw1zBGjI07QU6yEAs',
    'short0Key0Line',
    'YjAEm0GsOtghYK1tbohFU0jo7KiVHbAA9zq8AnhH9JF2Twhtw1zBGjI07QU6yEA=',
  ];
  const text = `-----BEGIN RSA PRIVATE KEY-----\n${lines.join('\n')}\n-----END RSA PRIVATE KEY-----\n`;
  const masks = '[masked]\n[masked]\n[masked]\n';

  beforeEach(() => writeFileSync(join(root, 'a.ts'), `const key = \`${text}\`;\nconst b = 1;\n`));

  it('says that the text to replace is masked if the edit quotes what a read showed', async () => {
    await session.read('a.ts');
    const oldString = `${masks}-----END RSA PRIVATE KEY-----\n\`;`;
    const refused = await session.edit('a.ts', [{ oldString, newString: 'x' }]);
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'REDACTED_READ' } });
  });

  it('does not show the key if the edit has a wrong line after it', async () => {
    await session.read('a.ts');
    const oldString = `x\ny\n-----END RSA PRIVATE KEY-----\n\`;;`;
    const refused = await session.edit('a.ts', [{ oldString, newString: 'x' }]);
    if (refused.ok) throw new Error('not refused');
    if (refused.refusal.code !== 'NO_MATCH') throw new Error(refused.refusal.code);
    expect(refused.refusal.detail?.nearest).toContain('4: [masked]\n5: -----END RSA PRIVATE KEY-----');
    for (const line of lines) expect(JSON.stringify(refused)).not.toContain(line.slice(0, 12));
  });

  it('does not suggest masked text, even to the session that wrote the key', async () => {
    await session.write('b.ts', `const key = \`${text}\`;\nconst b = 1;\n`);
    const oldString = `${masks}-----END RSA PRIVATE KEY-----\n`;
    const refused = await session.edit('b.ts', [{ oldString, newString: 'x' }]);
    if (refused.ok || refused.refusal.code !== 'NO_MATCH') throw new Error('not refused');
    const { nearest, anchor, difference } = refused.refusal.detail ?? {};
    expect([nearest, anchor, difference]).toEqual([
      expect.stringContaining('[masked]'),
      undefined,
      undefined,
    ]);
  });
});

it.each(['admin', 'ACCESS_KEY'])('the places of %s in a long line are masked', async (oldString) => {
  const secrets = ['pA5sw0rdSecret99', 'd8xE8dyVdrqDhmJzn9JAt0qxAPtwmdxC6xzNZjSS'];
  const address = `"url":"postgres://admin:${secrets[0]}@db.example.com/x"`;
  const key = `"AWS_SECRET_ACCESS_KEY":"${secrets[1]}"`;
  const rest = '"role":"admin","ACCESS_KEY_ID":1';
  writeFileSync(join(root, 'a.json'), `{"text":"${'lorem ipsum '.repeat(12)}",${address},${key},${rest}}\n`);
  await session.read('a.json');
  const refused = await session.edit('a.json', [{ oldString, newString: 'x' }]);
  if (refused.ok || refused.refusal.code !== 'AMBIGUOUS_MATCH') throw new Error('not refused');
  const places = refused.refusal.detail?.places ?? [];
  expect(places.map(({ text }) => text.slice(0, 1 + oldString.length))).toEqual([
    `…${oldString}`,
    `…${oldString}`,
  ]);
  for (const secret of secrets) expect(JSON.stringify(refused)).not.toContain(secret);
});

describe('the values of a secret file that is moved', () => {
  const VALUE = 'k3y-0f-the-kingdom-77';

  beforeEach(async () => {
    writeFileSync(join(root, '.env'), `${ENV}API=${VALUE}\nURL=http://localhost:3000\n`);
    expect(await session.move('.env', 'plain.txt')).toMatchObject({ ok: true });
  });

  it('stay masked in reads, searches, diffs and refusals', async () => {
    const read = await session.read('plain.txt');
    expect(read).toMatchObject({ text: expect.stringContaining('API=[masked]') });
    expect(JSON.stringify(read)).not.toMatch(/very-private|also private|k3y/);
    expect(await session.search('k3y', { path: 'plain.txt' })).toMatchObject({ hits: [] });
    const codes = [];
    for (const changed of [
      await session.write('plain.txt', 'x\n'),
      await session.edit('plain.txt', [{ oldString: 'API=k3y', newString: 'API=x' }]),
      await session.edit('plain.txt', [{ oldString: '# settings', newString: '# mine' }]),
    ])
      codes.push(changed.ok ? 'ok' : changed.refusal.code);
    expect(codes).toEqual(['REDACTED_READ', 'REDACTED_READ', 'ok']);
    expect(JSON.stringify(await session.read('plain.txt'))).not.toContain('k3y');
  });

  it('stay masked in another process of the session', async () => {
    const open = (): Promise<Session> => openSession({ roots: [root], home, session: 's' });
    const first = await open();
    await first.move('plain.txt', '.env');
    await first.move('.env', 'plain.txt');
    await first.read('plain.txt');
    await first.edit('plain.txt', [{ oldString: '# settings', newString: '# mine' }]);
    await first.close();
    const second = await open();
    try {
      const read = await second.read('plain.txt');
      expect(read).toMatchObject({ text: expect.stringContaining('API=[masked]') });
      expect(JSON.stringify(read)).not.toMatch(/very-private|also private|k3y/);
      expect(await second.search('k3y', { path: 'plain.txt' })).toMatchObject({ hits: [] });
      expect(await second.write('plain.txt', 'x\n')).toMatchObject({ ok: false });
    } finally {
      await second.close();
    }
  });

  it('are masked wherever they occur, but an address or a short value is not', async () => {
    const text = `# ${VALUE}\nhttp://localhost:3000\nTOKEN=very-private\n`;
    writeFileSync(join(root, 'notes.md'), text);
    const read = await session.read('notes.md');
    expect(read).toMatchObject({ text: text.replace(VALUE, '[masked]').trimEnd() });
  });
});

describe('a search for a guess of a masked value', () => {
  const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;

  beforeEach(() => {
    writeFileSync(join(root, 'a.ts'), `const a = 1;\nconst token = '${token}';\n`);
    writeFileSync(join(root, 'utf16.env'), Buffer.from(`\ufeff${ENV}`, 'utf16le'));
    writeFileSync(join(root, 'other.txt'), 'TOKEN= ghp_\n');
  });

  it.each(['lines', 'files', 'count'] as const)('finds the same as for a wrong one (%s)', async (mode) => {
    for (const [right, wrong] of [
      ['TOKEN=v', 'TOKEN=w'],
      ['^TOKEN=very.*', '^TOKEN=wery.*'],
      ['ghp_abc', 'ghp_abd'],
      ['^.{18}$', '^.{99}$'],
    ] as const)
      for (const path of ['.', '.env', 'a.ts', 'utf16.env'])
        for (const limit of [1, 100]) {
          const found = async (pattern: string) =>
            session.search(pattern, { path, mode, limit, glob: path === '.' ? '**' : undefined });
          expect(await found(right)).toEqual(await found(wrong));
        }
  });

  it('finds what reads show', async () => {
    const hits = [{ path: '.env', line: 2, text: 'TOKEN=[masked]' }];
    expect(await session.search('^TOKEN=.*', { path: '.env' })).toMatchObject({ hits });
    expect(await session.search('TOKEN', { path: 'utf16.env' })).toMatchObject({ matches: 1 });
    expect(await session.search('const token', { path: 'a.ts' })).toMatchObject({
      hits: [{ line: 2, text: `const token = '[masked]';` }],
    });
  });
});

it('a search masks secrets at both cuts of a long line', async () => {
  const key = 'd8xE8dyVdrqDhmJzn9JAt0qxAPtwmdxC6xzNZjSS';
  const token = `ghp_${key.slice(0, 36)}`;
  const [before, after] = ['lorem ipsum '.repeat(600), 'z'.repeat(9000)];
  // The excerpt begins after the name of the key and ends inside the token.
  const left = `"AWS_SECRET_ACCESS_KEY":"${key}",${'y'.repeat(100)}`;
  const right = `${'y'.repeat(310)} "${token}" `;
  writeFileSync(join(root, 'a.json'), `{"x":"${before}",${left}MARK${right}${after}}\n`);
  const found = await session.search('MARK');
  if (!found.ok) throw new Error(found.refusal.code);
  const text = found.hits[0]?.text ?? '';
  expect(text).toContain('[masked]",yyy');
  expect(text).toContain('yyy "[masked]" zzz');
  for (const secret of [key.slice(20), token.slice(0, 10)]) expect(text).not.toContain(secret);
});

it('an undo shows its diff with the values masked', async () => {
  await session.read('.env');
  await session.edit('.env', [{ oldString: '# settings', newString: '# our settings' }]);
  const preview = await session.undo({ preview: true });
  if (!preview.ok) throw new Error(preview.refusal.code);
  expect(preview.diff).toContain('# our settings');
  expect(preview.diff).toContain('TOKEN=[masked]');
  expect(preview.diff).not.toMatch(/very-private|also private/);
});

it('a refused undo shows what changed since with the values masked', async () => {
  await session.read('.env');
  await session.edit('.env', [{ oldString: '# settings', newString: '# our settings' }]);
  writeFileSync(join(root, '.env'), ENV.replace('very-private', 'later-private').replace('settings', 'more'));
  const refused = await session.undo();
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'STALE' } });
  expect(JSON.stringify(refused)).toContain('# more');
  expect(JSON.stringify(refused)).not.toMatch(/very-private|later-private|also private/);
});

it('the prompt of a turn is journalled without its tokens', async () => {
  const token = `ghp_${'a'.repeat(36)}`;
  await session.checkpoint(`use ${token} now`);
  await session.close();
  session = await openSession({ roots: [root], home, session: 'named' });
  await session.checkpoint(`${'word '.repeat(20)}${token}`);
  const journal = await openJournal({ home });
  const labels: unknown[] = [];
  for await (const entry of journal.entries({ kinds: ['turn'] })) labels.push(entry.label);
  await journal.close();
  expect(labels).toHaveLength(1);
  expect(labels.join()).not.toContain('ghp_');
});

describe('a raw read of a file over `hugeBytes`', () => {
  const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;
  const readRaw = async (content: Uint8Array) => {
    await session.close();
    setLimits({ hugeBytes: 1000 });
    session = await openSession({ roots: [root], home, store: 'memory:' });
    writeFileSync(join(root, 'a.bin'), content);
    const read = await session.read('a.bin', { raw: true, limit: Number.MAX_SAFE_INTEGER });
    if (!read.ok) throw new Error(read.refusal.code);
    return read;
  };

  it('returns the bytes of a binary file unchanged, as for a smaller file', async () => {
    const noise = Buffer.from(Array.from({ length: 2048 }, (_, index) => index % 256));
    const content = Buffer.concat([noise, Buffer.from(`\n${token}\n`), noise]);
    const { bytes = [], text, encoding } = await readRaw(content);
    expect(Buffer.from(bytes).equals(content)).toBe(true);
    expect([encoding, text.includes(token), text.includes('[masked]')]).toEqual(['binary', false, true]);
  });

  it.each(['utf8', 'latin1'] as const)(
    'masks the secrets of a text and nothing else: %s',
    async (encoding) => {
      const text = `${'déjà vu, café, élève, été\n'.repeat(50)}key ${token}\n`;
      const { bytes = [] } = await readRaw(Buffer.from(text, encoding));
      expect(Buffer.from(bytes).toString(encoding)).toBe(text.replace(token, '[masked]'));
    },
  );

  it.each([
    ['utf8', 'utf-8'],
    ['latin1', 'windows-1252'],
    ['utf16le', 'utf-16le'],
  ] as const)('names the encoding of its bytes: %s', async (encoding, name) => {
    const text = 'déjà vu, café, élève, été\n'.repeat(50);
    expect((await readRaw(Buffer.from(text, encoding))).encoding).toBe(name);
    const secret = await readRaw(Buffer.from(`${text}key ${token}\n`, encoding));
    expect(Buffer.from(secret.bytes ?? []).toString(encoding)).toBe(`${text}key [masked]\n`);
    const overwrite = await session.write('a.bin', 'x');
    expect(overwrite.ok).toBe(false);
  });
});
