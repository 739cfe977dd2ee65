import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exported } from '../../src/records/view/export.ts';
import { unifiedRows } from '../../src/records/view/hunks.ts';
import type { DetailView, StartView } from '../../src/records/view/view-data.ts';
import { environment, lookfirst, PROGRAM } from '../support/command-line.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';
import { WatchedChild } from '../support/watched-child.ts';

const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

/** A turn in which a session changed two files, one of them next to a secret. */
async function scene(): Promise<Desk & { readonly change: string }> {
  const t = await desk({ session: 'coder' });
  await t.put('a.txt', 'one\ntwo\n');
  await t.put('code.ts', `const token = "${TOKEN}";\nconst a = 1;\n`);
  await t.put('other.txt', 'not part of it\n');
  await t.session.beginTurn({ turn: 'p1', prompt: 'Shout <b>twice</b>' });
  for (const path of ['a.txt', 'code.ts', 'other.txt']) await ok(t.session.read(path));
  await ok(t.session.edit('a.txt', [{ oldString: 'two', newString: 'TWO & <i>more</i>' }]));
  const { change = '' } = await ok(t.session.edit('code.ts', [{ oldString: 'a = 1', newString: 'a = 2' }]));
  return { ...t, change };
}

describe('lookfirst view --export', () => {
  it('prints a turn as one HTML file that needs nothing else', async () => {
    const t = await scene();
    const { code, stdout: out } = await lookfirst(t, ['view', '--export', 'p1']);
    expect(code).toBe(0);
    expect(out).toMatch(/^<!doctype html>/);
    expect(out).toContain('<h1>Shout &#60;b&#62;twice&#60;/b&#62;</h1>');
    expect(out).toContain('<span class="a">+TWO &#38; &#60;i&#62;more&#60;/i&#62;</span>');
    expect(out).not.toMatch(/src=|href=|<script|@import|url\(/);
    // Secrets are masked, and files that the turn did not change are left out.
    expect(out).toContain('[masked]');
    expect(out).not.toContain(TOKEN);
    expect(out).not.toContain('not part of it');
  });

  it('prints a change, named by the beginning of its id, as Markdown', async () => {
    const t = await scene();
    const { code, stdout: out } = await lookfirst(t, [
      'view',
      '--export',
      t.change.slice(0, 8),
      '--markdown',
    ]);
    expect(code).toBe(0);
    expect(out).toContain('# coder edit code.ts');
    expect(out).toContain(
      'Had it read the file? In part: it had read all lines (secrets masked) of the file as it was',
    );
    expect(out).toContain('-const a = 1;\n+const a = 2;\n```');
    expect(out).not.toContain(TOKEN);
    expect(out).not.toContain('TWO');
  });

  it('prints a refusal, named by the number of its entry, with all that the viewer says of it', async () => {
    const t = await desk({ session: 'coder' });
    await t.put('a.txt', 'one\ntwo\n');
    await ok(t.session.read('a.txt'));
    const other = await t.open({ session: 'other' });
    await ok(other.read('a.txt'));
    await ok(other.edit('a.txt', [{ oldString: 'two', newString: 'TWO' }]));
    await refusal(t.session.write('a.txt', 'one\n2\n'), 'STALE');
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'one\nTWO\n2\n'));
    const listed = await lookfirst(t, ['log', '--kind', 'refusal', '--json']);
    const { seq } = JSON.parse(listed.stdout) as { readonly seq: number };
    const { code, stdout: out } = await lookfirst(t, ['view', '--export', String(seq)]);
    expect(code).toBe(0);
    expect(out).toContain('<h1>coder refused overwrite a.txt [STALE]</h1>');
    for (const part of [
      'Refusing was right. other had changed the file since the session saw it.',
      'What the session had seen: all lines, ',
      'Changed since: edit. Session other',
      'Next step given: read the file again, or use the diff in the refusal.',
      'its overwrite went through. Session coder',
      '<span class="a">+TWO</span>',
    ])
      expect(out).toContain(part);
    expect((await lookfirst(t, ['view', '--export', '999'])).code).toBe(2);
  });

  it('is refused for a turn or change that does not exist here', async () => {
    const t = await scene();
    const { code, stderr: errors } = await lookfirst(t, ['view', '--export', 'p2']);
    expect(code).toBe(2);
    expect(errors).toContain('there is no turn, change or refusal p2 here');
    const elsewhere = scratch();
    const home = t.home;
    expect((await lookfirst({ ...elsewhere, home }, ['view', '--export', t.change])).code).toBe(2);
  });
});

it('text that looks like Markdown stays text, in names and in diffs', () => {
  const row = { seq: 1, atMs: 0, session: '**s**', kind: 'change', what: 'edit', path: 'a`b.md' } as const;
  const rows = unifiedRows('@@ -0,0 +1,3 @@\n+```\n+# no heading\n+```');
  const file = { root: '/w', path: row.path, parts: true, hidden: 0, ...rows };
  const about = { name: 'Had it read the file?', words: 'New file: nothing was there.' } as const;
  const view: DetailView = { row, root: '/w', facts: [], files: [{ ...file, about }], canUndo: true };
  const text = exported(view, 'markdown') ?? '';
  expect(text).toContain('# \\*\\*s\\*\\* edit a\\`b.md');
  expect(text).toContain('````diff\n+```\n+# no heading\n+```\n````');
});

it('the viewer plays the demo in folders of its own, shows it at an address of its own, and removes it', async () => {
  const t = scratch();
  const [program = '', ...first] = PROGRAM;
  const env = environment(t, {});
  const viewer = spawn(program, [...first, 'view', t.root, '--no-open'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void viewer.kill('SIGKILL'));
  const lines = once(createInterface(viewer.stdout), 'line');
  const [line] = await new WatchedChild(viewer).whileRunning(lines);
  const { origin, hash } = new URL(String(line));
  const ask = async <T>(address: URL, path: string, init: RequestInit = {}): Promise<T> => {
    const headers = { authorization: `Bearer ${address.hash.slice(1)}`, 'content-type': 'application/json' };
    return (await (await fetch(`${address.origin}/api/${path}`, { ...init, headers })).json()) as T;
  };
  const own = new URL(`${origin}/${hash}`);
  expect(await ask<StartView>(own, 'start')).toMatchObject({ canDemo: true, feed: { rows: [] } });
  const { url } = await ask<{ url: string }>(own, 'demo', { method: 'POST', body: '{}' });
  const demo = new URL(url);
  expect(demo.origin).not.toBe(origin);
  const { folders, feed, readOnly } = await ask<StartView>(demo, 'start');
  expect(readOnly).toBeUndefined();
  expect(new Set(feed.rows.map(({ kind }) => kind))).toEqual(
    new Set(['session', 'read', 'change', 'refusal', 'notice']),
  );
  // The folder of the viewer has still no entry.
  expect((await ask<StartView>(own, 'start')).feed.rows).toEqual([]);
  expect(existsSync(folders[0] ?? '')).toBe(true);
  viewer.kill('SIGTERM');
  await once(viewer, 'exit');
  expect(existsSync(folders[0] ?? '')).toBe(false);
});
