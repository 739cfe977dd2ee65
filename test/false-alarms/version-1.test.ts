// Tests of defects 15 to 25, which attacks on version 1 found. See README.md in this folder.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CAN_MOUNT,
  done,
  moment,
  prepared,
  proxied,
  refused,
  type Table,
  table,
  withSmallDisk,
} from '../found/table.ts';
import { OFFICIAL } from '../proxy/harness.ts';
import { setLimits } from '../support/limits.ts';
import { Served } from '../support/served.ts';

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

it('15. an edit is applied where its anchor and a neighbouring line still are, whatever a diff aligns', async () => {
  const anchor = 'const unique = 1;';
  const block = ['if (ready) {', '  start();', '}'];
  const t = await table({ 'a.ts': ['// head', anchor, ...block, ''].join('\n') });
  done(await t.call('read_file', { path: 'a.ts' }));
  const live = [...block, 'added();', '// head', anchor, 'other();', ''].join('\n');
  t.put('a.ts', live);
  done(await t.call('edit_file', { path: 'a.ts', old_string: anchor, new_string: 'const unique = 2;' }));
  expect(t.text('a.ts')).toBe(live.replace('= 1', '= 2'));
});

it('15. the end of a file counts as a neighbouring line', async () => {
  const t = await table({ 'a.ts': 'start();\nstop();\n}\n\n' });
  done(await t.call('read_file', { path: 'a.ts' }));
  t.put('a.ts', 'start();\nstop();\n}\nadded();\n}\n\n');
  done(await t.call('edit_file', { path: 'a.ts', old_string: '}\n\n', new_string: '})\n' }));
  expect(t.text('a.ts')).toBe('start();\nstop();\n}\nadded();\n})\n');
});

it('16. an edit is prepared again when a program appends at the moment of writing', async () => {
  const t = prepared({ 'a.txt': numbered(5) });
  const server = await Served.start(t, [], moment('appending', t.path('a.txt')));
  done(await server.call('read_file', { path: 'a.txt' }));
  done(await server.call('edit_file', { path: 'a.txt', old_string: 'line 2', new_string: 'LINE 2' }));
  // Control: the other program appended a line at the first try to commit, and one at the second.
  expect(t.text('a.txt')).toBe(`${numbered(5).replace('line 2', 'LINE 2')}appended\nappended\n`);
});

it('17. a read in one process licenses the session in another at once', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `f${index}.txt`);
  const t = await table(Object.fromEntries(names.map((name) => [name, 'one\n'])), {
    args: ['--session', 'ann'],
  });
  const sibling = await t.another(['--session', 'ann']);
  done(await sibling.call('read_file', { path: 'f0.txt' }));
  for (const path of names) {
    done(await t.call('read_file', { path }));
    done(await sibling.call('write_file', { path, content: 'two\n' }));
  }
});

it('18. in a huge file that grew, shown lines can be edited and unseen ones cannot', async () => {
  setLimits({ hugeBytes: 100 });
  const t = await table({ 'a.log': numbered(100) });
  done(await t.call('read_file', { path: 'a.log', limit: 20 }));
  appendFileSync(t.path('a.log'), 'line 101\n');
  const edit = (line: number) => ({ path: 'a.log', old_string: `line ${line}\n`, new_string: 'x\n' });
  refused(await t.call('edit_file', edit(77)), 'PARTIALLY_READ');
  done(await t.call('edit_file', edit(7)));
});

describe('19. a notice shows as much of a long line as a read does', () => {
  const long = (letter: string, length: number): string => `${letter.repeat(length)}\n`;
  const text = (letter: string, length: number): string => `${long(letter, length)}${numbered(20)}`;

  it('so an overwrite is allowed afterwards', async () => {
    const t = await table({ 'a.txt': text('a', 1200) });
    done(await t.call('read_file', { path: 'a.txt' }));
    t.put('a.txt', text('b', 1200));
    const edit = { path: 'a.txt', old_string: 'line 15', new_string: 'LINE 15' };
    expect(done(await t.call('edit_file', edit)).text).toContain(long('b', 1200));
    done(await t.call('write_file', { path: 'a.txt', content: 'all mine\n' }));
  });

  it('and it names the lines that it cuts', async () => {
    const t = await table({ 'a.txt': text('a', 3000) });
    done(await t.call('read_file', { path: 'a.txt' }));
    t.put('a.txt', text('b', 3000));
    const edit = { path: 'a.txt', old_string: 'line 15', new_string: 'LINE 15' };
    expect(done(await t.call('edit_file', edit)).text).toMatch(/shown of line 1$/);
    refused(await t.call('write_file', { path: 'a.txt', content: 'all mine\n' }), 'PARTIALLY_READ');
  });
});

it('20. a short text in windows-1252 is decoded correctly', async () => {
  const texts = [
    'Köln\n',
    'Grüße\n',
    'Öl\n',
    'Ångström\n',
    '40 °C, 10 µm\n',
    '½ cup\n',
    'naïve café\n',
    'æøå\n',
  ];
  const files = texts.map((text, index) => [`f${index}.txt`, Buffer.from(text, 'latin1')] as const);
  const t = await table(Object.fromEntries(files));
  for (const [index, text] of texts.entries()) {
    const read = done(await t.call('read_file', { path: `f${index}.txt` }));
    expect(read.text).toContain(`1\t${text}`);
  }
});

it('21. a file that returns to bytes that were seen whole counts as seen', async () => {
  const t = await table({ 'a.txt': 'one\n' });
  done(await t.call('read_file', { path: 'a.txt' }));
  done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
  // Another program restores the first text, as `git stash` does.
  t.put('a.txt', 'one\n');
  done(await t.call('write_file', { path: 'a.txt', content: 'three\n' }));
  // Another program restores the second text, as `git checkout` of another branch does.
  t.put('a.txt', 'two\n');
  done(await t.call('edit_file', { path: 'a.txt', old_string: 'two', new_string: 'four' }));
  // The agent deletes or moves the file, and another program restores it, as `git checkout` does.
  done(await t.call('delete_path', { path: 'a.txt' }));
  t.put('a.txt', 'four\n');
  done(await t.call('write_file', { path: 'a.txt', content: 'five\n' }));
  done(await t.call('move_path', { source: 'a.txt', destination: 'b.txt' }));
  t.put('a.txt', 'two\n');
  done(await t.call('delete_path', { path: 'a.txt' }));
  t.put('a.txt', 'never seen\n');
  refused(await t.call('write_file', { path: 'a.txt', content: 'six\n' }), 'NOT_READ');
});

describe('22. pasted line numbers', () => {
  it('are not written, and the refusal says what they are', async () => {
    const t = await table({ 'a.txt': 'one\ntwo\nthree\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    const content = '1\tuno\n2\tdos\n3\ttres\n';
    const { text } = refused(await t.call('write_file', { path: 'a.txt', content }), 'PLACEHOLDER_CONTENT');
    expect(text).toMatch(/line numbers/);
    expect(t.text('a.txt')).toBe('one\ntwo\nthree\n');
  });

  it('are removed from an edit whose lines are all new', async () => {
    const t = await table({ 'a.txt': 'one\ntwo\nthree\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    const edit = { path: 'a.txt', old_string: '1\tone\n2\ttwo', new_string: '1\tuno\n2\tdos' };
    expect(done(await t.call('edit_file', edit)).text).toMatch(/line numbers/);
    expect(t.text('a.txt')).toBe('uno\ndos\nthree\n');
  });
});

describe('23. the next step of a refusal helps', () => {
  /**
   * Finds the last suggested call of this tool in a refusal's text, makes it and expects success.
   */
  async function follow(t: Table, text: string, tool: string): Promise<void> {
    const calls = [...text.matchAll(new RegExp(`${tool} (\\{".*?\\})(?=[\\s,.;]|$)`, 'g'))];
    expect(calls, text).not.toEqual([]);
    done(await t.call(tool, JSON.parse(calls.at(-1)?.[1] ?? '')));
  }

  it('NO_MATCH in a file seen whole suggests an old_string that matches', async () => {
    const t = await table({ 'a.ts': 'if (x) {\n\treturn 1;\n}\n' });
    done(await t.call('read_file', { path: 'a.ts' }));
    const edit = { path: 'a.ts', old_string: 'return  1 ;', new_string: 'return 2;' };
    const { text } = refused(await t.call('edit_file', edit), 'NO_MATCH');
    const [, quoted = ''] = /old_string ("(?:[^"\\]|\\.)*")/.exec(text) ?? [];
    expect(quoted, text).not.toBe('');
    done(await t.call('edit_file', { ...edit, old_string: JSON.parse(quoted) }));
  });

  it('STALE of an undo suggests a merge', async () => {
    const t = await table({ 'a.txt': numbered(20) });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('edit_file', { path: 'a.txt', old_string: 'line 3\n', new_string: 'x\n' }));
    t.put('a.txt', t.text('a.txt').replace('line 18', 'by hand'));
    const { text } = refused(await t.call('undo_change'), 'STALE');
    await follow(t, text, 'undo_change');
    expect(t.text('a.txt')).toBe(numbered(20).replace('line 18', 'by hand'));
  });

  it('an unknown change id suggests the last change', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    done(await t.call('write_file', { path: 'a.txt', content: 'two\n' }));
    const { text } = refused(await t.call('undo_change', { change: 'c0000000000' }), 'NOT_FOUND');
    await follow(t, text, 'undo_change');
    expect(t.text('a.txt')).toBe('one\n');
  });
});

describe('24. a fault names its cause', () => {
  it.skipIf(!CAN_MOUNT)('a full disk, to the model and to the user (needs its own mount)', async () => {
    const t = prepared({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const { server, fill } = await withSmallDisk(t, t.home);
    done(await server.call('read_file', { path: 'a.txt' }));
    fill(0);
    const { text } = await server.call('write_file', { path: 'a.txt', content: 'two\n'.repeat(5000) });
    expect(text).toMatch(/the disk of the state folder is full/);
    expect(text).toMatch(/nothing was changed/i);
    expect(t.text('a.txt')).toBe('one\n');
    // The server's message on standard error may arrive after the answer.
    await expect.poll(() => server.client.errors).toMatch(/full/);
    // Read until a read cannot be recorded: SQLite may still have room in its own files for the
    // first records.
    let shown = '';
    for (let reads = 0; reads < 60 && !shown.includes('could not be recorded'); reads += 1)
      shown = done(await server.call('read_file', { path: 'b.txt' })).text;
    expect(shown).toMatch(/^1\tone\n.*could not be recorded/s);
  });

  it('a deleted database', async () => {
    const t = await table({ 'a.txt': 'one\n' });
    done(await t.call('read_file', { path: 'a.txt' }));
    rmSync(join(t.home, 'lookfirst.db'));
    const { text } = await t.call('write_file', { path: 'a.txt', content: 'two\n' });
    expect(text).toMatch(/database/);
    expect(text).toMatch(/nothing was changed/i);
  });
});

describe('25. the proxy judges as the server does', () => {
  const READ_MANY = 'read_multiple_files';

  it('read_multiple_files refuses only the paths that are outside', async () => {
    const t = prepared({ 'a.txt': 'one\n', 'b.txt': 'two\n' });
    writeFileSync(join(t.outside, 'c.txt'), 'outside\n');
    const proxy = await proxied(t, [OFFICIAL, t.base]);
    await proxy.tools();
    const paths = [t.path('a.txt'), join(t.outside, 'c.txt'), t.path('b.txt')];
    const { text } = await proxy.call(READ_MANY, { paths });
    for (const shown of ['one', 'two', 'OUTSIDE_WORKSPACE']) expect(text).toContain(shown);
    expect(text).not.toContain('outside\n');
    expect(await proxy.call('write_file', { path: paths[2], content: 'x\n' })).toMatchObject({ ok: true });
  });

  it('a dry run of an edit needs no read, and the lines of its diff count as seen', async () => {
    const t = prepared({ 'a.txt': numbered(30), 'b.txt': numbered(30) });
    const proxy = await proxied(t, [OFFICIAL, t.root]);
    const server = await Served.here(t, ['--dialect', 'filesystem']);
    await proxy.tools();
    for (const [door, name] of [
      [proxy, 'a.txt'],
      [server, 'b.txt'],
    ] as const) {
      const path = t.path(name);
      const edits = [{ oldText: 'line 15\n', newText: 'x\n' }];
      expect(await door.call('edit_file', { path, edits, dryRun: true })).toMatchObject({ ok: true });
      refused(await door.call('write_file', { path, content: 'x\n' }), 'PARTIALLY_READ');
      expect(await door.call('edit_file', { path, edits })).toMatchObject({ ok: true });
    }
  });

  it('a refusal names the arguments of the tool that was called', async () => {
    const t = prepared({ 'a.txt': 'one\n' });
    const proxy = await proxied(t, [OFFICIAL, t.root]);
    await proxy.tools();
    const path = t.path('a.txt');
    await proxy.call('read_text_file', { path });
    const edits = [{ oldText: '', newText: 'two' }];
    const { text } = refused(await proxy.call('edit_file', { path, edits }), 'INVALID_ARGUMENT');
    expect(text).toContain('oldText');
    expect(text).not.toMatch(/old_string|new_string/);
  });

  it('the lines that an unknown server’s read_multiple_files shows count as seen', async () => {
    const t = prepared({ 'a.txt': 'one\n' });
    const proxy = await proxied(t, [join(import.meta.dirname, '../found/unknown-server.mjs')]);
    await proxy.tools();
    await proxy.call(READ_MANY, { paths: [t.path('a.txt')] });
    expect(await proxy.call('write_file', { path: t.path('a.txt'), content: 'two\n' })).toMatchObject({
      ok: true,
    });
    expect(t.text('a.txt')).toBe('two\n');
  });
});
