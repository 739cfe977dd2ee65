import { hash } from 'node:crypto';
import { chmodSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { detectCurlyQuotes, hasSuspiciousUnicode, straightenQuotes } from '../../src/index.ts';
import { PRESET_NAMES } from '../../src/model/policy.ts';
import { desk, ok } from '../support/desk.ts';
import { Served } from '../support/served.ts';
import { scratch } from '../support/tree.ts';
import { allowed, type Door, openScene, refused, type SceneOptions, through } from './doors.ts';

/**
 * Requirements document 004 describes system D, which warns about changed files and straightens
 * quotes in code. The numbers in titles are rows of the audit of these requirements.
 */
describe('004 Staleness and quotes', () => {
  const D: SceneOptions = { preset: 'staleness' };
  // Hooks never rewrite a call, and the program behind them reads files by itself.
  const ASKED: readonly Door[] = ['library', 'server', 'proxy'];

  it('4.1 Read (RecordRead): records mtime, SHA-256, size and time of the read', async () => {
    const t = await desk({ preset: 'staleness' });
    await t.put('a.txt', 'one\n');
    utimesSync(join(t.root, 'a.txt'), 1000, 1000);
    await ok(t.session.read('a.txt'));
    const { seen } = await ok(t.session.checkStaleness('a.txt'));
    const sha256 = hash('sha256', 'one\n', 'hex');
    expect(seen).toEqual({ sha256, size: 4, mtimeMs: 1_000_000, at: expect.any(Number) });
  });

  it('4.2 Verification (CheckStaleness): the verdict, its reason, and both states', async () => {
    const t = await desk({ preset: 'staleness' });
    const check = async () => await ok(t.session.checkStaleness('a.txt'));
    expect(await check()).toMatchObject({ stale: false });
    await t.put('a.txt', 'one\n');
    expect(await check(), 'never read').toMatchObject({
      stale: false,
      reason: expect.stringContaining('not'),
    });
    await ok(t.session.read('a.txt'));
    expect(await check()).toMatchObject({ stale: false });
    await t.put('a.txt', 'by hand\n');
    expect(await check()).toMatchObject({ stale: true, seen: { size: 4 }, now: { size: 8 } });
    rmSync(join(t.root, 'a.txt'));
    expect(await check()).toMatchObject({ stale: true, reason: expect.stringContaining('deleted') });
  });

  through('4.3 Covered scenarios: unmodified and touched files are not stale', D, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    utimesSync(join(t.root, 'a.txt'), new Date(), new Date(Date.now() + 60_000));
    expect(await allowed(t.write('a.txt', 'two\n'))).not.toMatch(/warning|modified/i);
  });

  through('4.4 Covered scenarios: a real edit is stale, with times, sizes and hashes', D, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'by hand\n');
    const text = await refused(t.write('a.txt', 'two\n'), 'STALE');
    expect(text).toContain(`WARNING: File "${t.named('a.txt')}" has been modified externally`);
    expect(text).toMatch(/size: 4 → 8/);
    const short = (content: string): string => hash('sha256', content, 'hex').slice(0, 12);
    expect(text).toContain(`sha256: ${short('one\n')} → ${short('by hand\n')}`);
    // With the proxy, the official filesystem server read the file, so only the file's bytes are
    // known, not its times.
    if (t.door !== 'proxy') expect(text).toMatch(/mtime: \d{4}-\d\d-\d\dT.* → \d{4}-/);
  });

  through('4.5 Covered scenarios: a deleted file is stale', D, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    rmSync(join(t.root, 'a.txt'));
    expect(await allowed(t.write('a.txt', 'two\n'))).toMatch(/deleted since last read/);
  });

  through('4.6 Covered scenarios: a file that was never read is not stale', D, async (t) => {
    t.put('a.txt', 'one\n');
    expect(await allowed(t.write('a.txt', 'two\n'))).not.toMatch(/warning/i);
  });

  // Row 4.7 requires this warning, and row 4.13 requires it through the proxy, too.
  through('4.7, 4.13 Warning message: before the write, and both suggested next steps work', D, async (t) => {
    t.put('a.txt', 'one\n');
    t.put('b.txt', 'one\n');
    for (const path of ['a.txt', 'b.txt']) await allowed(t.read(path));
    for (const path of ['a.txt', 'b.txt']) t.put(path, 'by hand\n');
    const text = await refused(t.write('a.txt', 'two\n'), 'STALE');
    expect(t.text('a.txt'), 'nothing was written yet').toBe('by hand\n');
    expect(text).toMatch(/re-read the file/);
    expect(text).toMatch(/If you proceed anyway, external changes will be lost/);
    // Other content is another call, and held back too.
    await refused(t.write('a.txt', 'other\n'), 'STALE');
    expect(t.text('a.txt')).toBe('by hand\n');
    await refused(t.write('a.txt', 'two\n'), 'STALE');
    const done = await allowed(t.write('a.txt', 'two\n'));
    expect(done).toMatch(/The change was made anyway; the journal keeps what it replaced, and an undo/);
    expect(done).not.toMatch(/re-read|If you proceed/);
    expect(t.text('a.txt')).toBe('two\n');
    await refused(t.edit('b.txt', 'hand', 'me'), 'STALE');
    await allowed(t.read('b.txt'));
    expect(await allowed(t.edit('b.txt', 'hand', 'me'))).not.toMatch(/warning/i);
  });

  through(
    '4.8 Covered scenarios: an error during the check does not block',
    { ...D, user: 'ordinary', doors: ['server', 'proxy'] },
    async (t) => {
      t.put('a.txt', 'one\n');
      await allowed(t.read('a.txt'));
      chmodSync(join(t.root, 'a.txt'), 0o200);
      await allowed(t.write('a.txt', 'two\n'));
      t.put('unread.txt', 'one\n');
      chmodSync(join(t.root, 'unread.txt'), 0o200);
      await allowed(t.write('unread.txt', 'two\n'));
    },
  );

  // A query of the status trusts that a file with its recorded time and size is unchanged. An
  // overwrite always hashes the file.
  it.skipIf(process.platform !== 'linux')(
    '4.9 2-step verification: equal time and size need no hash',
    async () => {
      const t = await desk({ preset: 'staleness' });
      const size = 6 << 20;
      await t.put('a.txt', 'x\n'.repeat(size / 2));
      utimesSync(join(t.root, 'a.txt'), 1, 1);
      await ok(t.session.read('a.txt'));
      // A time as recent as the read proves nothing yet, so read until it is older.
      await expect
        .poll(async () => {
          await ok(t.session.read('a.txt'));
          return bytesRead(() => ok(t.session.status('a.txt')));
        })
        .toBeLessThan(size / 10);
      utimesSync(join(t.root, 'a.txt'), 2, 2);
      expect(await bytesRead(() => ok(t.session.status('a.txt')))).toBeGreaterThanOrEqual(size);
      expect(await ok(t.session.status('a.txt'))).toMatchObject({ files: [{ freshness: 'fresh' }] });
    },
  );

  const QUOTES = '\u2018a\u2019 \u201cb\u201d \u2032 \u2033 \u00abc\u00bb\n';
  const STRAIGHT = '\'a\' "b" \' " <<c>>\n';
  const CODE = ['.go', '.py', '.js', '.ts', '.java', '.rs', '.sh', '.sql', '.json', '.yaml'].map(
    (end) => `f${end}`,
  );

  /** The number of bytes that this process reads from files meanwhile. */
  async function bytesRead(work: () => Promise<unknown>): Promise<number> {
    const count = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const before = count();
    await work();
    return count() - before;
  }

  // Row 4.12 requires that the proxy also straightens the quotes in the text that it forwards.
  through(
    '4.10, 4.12 Quote normalization: the table, in code and special files',
    { ...D, doors: ASKED },
    async (t) => {
      for (const name of [...CODE, 'Makefile', 'Dockerfile', '.gitignore']) {
        await allowed(t.write(name, QUOTES));
        expect([name, t.text(name)]).toEqual([name, STRAIGHT]);
      }
      for (const name of ['f.md', 'f.txt', 'f.rst']) {
        await allowed(t.write(name, QUOTES));
        expect([name, t.text(name)]).toEqual([name, QUOTES]);
      }
    },
  );

  it('4.18 Quote normalization: the functions', () => {
    expect(straightenQuotes(QUOTES)).toBe(STRAIGHT);
    expect(detectCurlyQuotes(QUOTES)).toMatchObject({ count: 8 });
    expect(['plain', 'a\u2014b'].map(hasSuspiciousUnicode)).toEqual([false, true]);
  });

  it('4.19 Docs: a section about each preset', () => {
    const text = readFileSync(new URL('../../docs/presets.md', import.meta.url), 'utf8');
    for (const preset of PRESET_NAMES) expect(text).toContain(`## \`${preset}\``);
  });

  through(
    '4.11 Quote normalization: by default only where a quote stands as code',
    { preset: 'default', doors: ASKED },
    async (t) => {
      await allowed(t.write('f.js', 'const a = \u201cb\u201d; // \u201cc\u201d\n'));
      expect(t.text('f.js')).toBe('const a = "b"; // \u201cc\u201d\n');
    },
  );

  it('4.14 Next steps, @coder: patches', async () => {
    const t = await desk({ preset: 'staleness' });
    await t.put('a.txt', 'one\ntwo\n');
    await ok(t.session.read('a.txt'));
    const text = '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n';
    await ok(t.session.patch({ format: 'unified', text }));
    expect(t.text('a.txt')).toBe('one\nthree\n');
  });

  through(
    '4.15 Next steps, permissions: what is protected stays so',
    { ...D, policy: { protected: ['locked/**'] } },
    async (t) => {
      t.put('locked/a.txt', 'one\n');
      await refused(t.write('locked/a.txt', 'x'), 'PROTECTED');
    },
  );

  it('4.16 Next steps, JSON recovery: arguments sent as JSON text', async () => {
    const places = scratch();
    const served = await Served.here(places, ['--preset', 'staleness']);
    const changes = JSON.stringify([{ path: 'a.txt', content: 'one\n' }]);
    expect((await served.call('apply_changes', { changes })).ok).toBe(true);
    expect((await served.call('read_file', { path: 'a.txt', limit: '1' })).ok).toBe(true);
  });

  it('4.16 Next steps, JSON recovery: the proxy judges edits that are sent as JSON text', async () => {
    const t = await openScene('proxy', { preset: 'default' });
    t.put('a.txt', 'one\n');
    const edits = JSON.stringify([{ oldText: 'one', newText: 'two' }]);
    const { code } = await t.call('edit_file', { path: join(t.root, 'a.txt'), edits });
    expect(code).toBe('NOT_READ');
    expect(t.text('a.txt')).toBe('one\n');
  });

  through(
    '4.17 Next steps, coder security: key folders and the like are out of reach',
    { ...D, doors: ASKED },
    async (t) => {
      for (const path of ['.ssh/id_rsa', '.aws/credentials']) {
        t.put(path, 'secret\n');
        const text = await refused(t.read(path), 'PROTECTED');
        expect(text).not.toContain('secret');
      }
    },
  );
});
