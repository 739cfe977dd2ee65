import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { official, officialForFile, scratch } from './harness.ts';

const read = (path: string) => readFileSync(path, 'utf8');

let server: Awaited<ReturnType<typeof officialForFile>>;
let count = 0;
beforeAll(async () => {
  server = await officialForFile();
});
afterAll(() => server.stop());

/** A folder with one file of five lines, behind the proxy and the official server. */
function open(content = 'one\ntwo\nthree\nfour\nfive\n') {
  const root = join(server.root, String(++count));
  mkdirSync(root);
  const path = join(root, 'a.txt');
  writeFileSync(path, content);
  /** The journal's lines about this folder. */
  const log = async () =>
    (await server.gate.log())
      .filter((line) => line.includes(` ${count}/`))
      .map((line) => line.replace(` ${count}/`, ' '));
  return { ...server, root, path, log };
}

describe('the official server behind the gate', () => {
  it("begins a refusal with the official server's own sentence, where it has one", async () => {
    const { client, path } = open();
    const outside = join(dirname(server.root), 'x');
    const far = await client.call('read_text_file', { path: outside });
    expect(far.text).toContain(
      `Access denied - path outside allowed directories: ${outside} not in ${server.root}\nrefusing to read`,
    );
    await client.call('read_text_file', { path });
    const edits = [
      { oldText: 'one', newText: '1' },
      { oldText: 'zz $&', newText: 'x' },
    ];
    const edited = await client.call('edit_file', { path, edits });
    expect(edited.text).toContain('Could not find exact match for edit:\nzz $&\nrefusing to edit');
  });

  it('refuses a blind overwrite with a result of its own, and leaves the file unchanged', async () => {
    const { client, path } = open();
    const blind = await client.call('write_file', { path, content: 'x' });
    expect(blind).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect(blind.text).toContain(`refusing to overwrite ${path}: read it first [NOT_READ]`);
    expect(blind.text).toContain(`read_text_file {"path":"${path}"}`);
    expect(blind.answer.result).toMatchObject({ isError: true });
    expect(blind.answer.result).not.toHaveProperty('structuredContent');
    expect(read(path)).toBe('one\ntwo\nthree\nfour\nfive\n');
  });

  it('says that the session is read-only, not the file', async () => {
    const root = scratch();
    writeFileSync(join(root, 'a.txt'), 'one\n');
    const { client } = await official(root, {}, { policy: { readOnly: true } });
    const { text } = await client.call('write_file', { path: join(root, 'a.txt'), content: 'x' });
    expect(text).toMatch(/a\.txt: this session is read-only \[READ_ONLY\]/);
  });

  it('lets a file that was read be overwritten and edited, and written again without reading', async () => {
    const { client, path, log } = open();
    await client.call('read_text_file', { path });
    expect((await client.call('write_file', { path, content: 'new\n' })).ok).toBe(true);
    expect((await client.call('edit_file', { path, edits: [{ oldText: 'new', newText: 'newer' }] })).ok).toBe(
      true,
    );
    expect((await client.call('write_file', { path, content: 'newest\n' })).ok).toBe(true);
    expect(read(path)).toBe('newest\n');
    expect(await log()).toEqual([
      'read read a.txt',
      'change overwrite a.txt',
      'change edit a.txt',
      'change overwrite a.txt',
    ]);
  });

  it('counts only the lines in the diff of a dry run as read', async () => {
    const { client, path } = open(Array.from({ length: 30 }, (_, i) => `line ${i + 1}\n`).join(''));
    const edits = [{ oldText: 'line 15', newText: 'x' }];
    expect((await client.call('edit_file', { path, edits, dryRun: true })).ok).toBe(true);
    const write = await client.call('write_file', { path, content: 'x\n' });
    expect(write).toMatchObject({ ok: false, code: 'PARTIALLY_READ' });
    expect(write.text).toContain('Not read: lines 1-10, 20-30 of 30.');
    expect((await client.call('edit_file', { path, edits })).ok).toBe(true);
  });

  it('lets a read license only calls that were sent after its answer', async () => {
    const { client, path } = open();
    const [shown, early] = await Promise.all([
      client.call('read_text_file', { path }),
      client.call('write_file', { path, content: 'early\n' }),
    ]);
    expect(shown.ok).toBe(true);
    expect(early).toMatchObject({ ok: false, code: 'NOT_READ' });
    expect((await client.call('write_file', { path, content: 'later\n' })).ok).toBe(true);
    // An edit may follow a write of the same session at once, because the session knows what it
    // wrote.
    const [first, second] = await Promise.all([
      client.call('write_file', { path, content: 'first\n' }),
      client.call('edit_file', { path, edits: [{ oldText: 'first', newText: 'second' }] }),
    ]);
    expect([first.ok, second.ok]).toEqual([true, true]);
    expect(read(path)).toBe('second\n');
  });

  it('names the arguments of the tool that was called', async () => {
    const { client, path } = open();
    await client.call('read_text_file', { path });
    const edits = [{ oldText: 'thre\nfour', newText: 'x' }];
    const answer = await client.call('edit_file', { path, edits });
    expect(answer).toMatchObject({ ok: false, code: 'NO_MATCH' });
    expect(answer.text).not.toContain('old_string');
  });

  it('lets the diff of a refusal license only calls that were sent after it', async () => {
    const { client, path } = open();
    await client.call('read_text_file', { path });
    writeFileSync(path, 'by hand\n');
    const [one, two] = await Promise.all([
      client.call('write_file', { path, content: 'one\n' }),
      client.call('write_file', { path, content: 'two\n' }),
    ]);
    expect([one.code, two.code]).toEqual(['STALE', 'STALE']);
    expect((await client.call('write_file', { path, content: 'three\n' })).ok).toBe(true);
  });

  it('refuses a stale overwrite, shows what changed, and refuses the same content again', async () => {
    const { client, path } = open();
    await client.call('read_text_file', { path });
    writeFileSync(path, 'one\ntheirs\nthree\nfour\nfive\n');
    const stale = await client.call('write_file', { path, content: 'x' });
    expect(stale).toMatchObject({ code: 'STALE' });
    expect(stale.text).toContain('+theirs');
    expect(await client.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'STALE' });
    expect(read(path)).toContain('theirs');
    await client.call('read_text_file', { path });
    expect((await client.call('write_file', { path, content: 'x' })).ok).toBe(true);
  });

  it('refuses an edit whose text changed, and one that is not unique, as the gate does', async () => {
    const { client, path } = open('one\ntwo\none\n');
    await client.call('read_text_file', { path });
    const edit = (oldText: string) => client.call('edit_file', { path, edits: [{ oldText, newText: 'x' }] });
    expect(await edit('one')).toMatchObject({ code: 'AMBIGUOUS_MATCH' });
    expect(await edit('three')).toMatchObject({ code: 'NO_MATCH' });
    writeFileSync(path, 'one\nTWO\none\n');
    expect(await edit('two')).toMatchObject({ code: 'STALE' });
  });

  it('applies an edit beside an outside change, and says what changed', async () => {
    const { client, path } = open();
    await client.call('read_text_file', { path });
    writeFileSync(path, 'one\ntwo\nthree\nfour\nFIVE\n');
    const edit = await client.call('edit_file', { path, edits: [{ oldText: 'two', newText: 'TWO' }] });
    expect(edit.ok).toBe(true);
    expect(edit.text).toContain('changed elsewhere');
    expect(edit.text).toContain('+FIVE');
    expect(read(path)).toBe('one\nTWO\nthree\nfour\nFIVE\n');
  });

  it('creates a file without a read, and allows to overwrite it', async () => {
    const { client, root } = open();
    const path = join(root, 'new.txt');
    expect((await client.call('write_file', { path, content: 'first\n' })).ok).toBe(true);
    expect((await client.call('write_file', { path, content: 'second\n' })).ok).toBe(true);
    expect(read(path)).toBe('second\n');
  });

  it.each([
    ['head', { head: 2 }, 'PARTIALLY_READ'],
    ['tail', { tail: 2 }, 'PARTIALLY_READ'],
    ['a head as long as the file', { head: 50 }, undefined],
    ['head 0, which this server treats as the whole file', { head: 0 }, undefined],
  ])('counts %s as the lines that were delivered', async (_what, range, code) => {
    const { client, path } = open();
    await client.call('read_text_file', { path, ...range });
    expect((await client.call('write_file', { path, content: 'x\n' })).code).toBe(code);
  });

  it('adds up two partial reads that cover the whole file', async () => {
    const { client, path } = open();
    await client.call('read_text_file', { path, head: 3 });
    await client.call('read_text_file', { path, tail: 3 });
    expect((await client.call('write_file', { path, content: 'x\n' })).ok).toBe(true);
  });

  it.each(['a file', 'a folder'])("refuses a move onto %s with the server's own message", async (what) => {
    const { client, root, path } = open();
    const taken = join(root, 'taken');
    if (what === 'a file') writeFileSync(taken, 'theirs');
    else mkdirSync(taken);
    for (const seen of [false, true]) {
      if (seen) await client.call('read_text_file', { path: taken });
      const moved = await client.call('move_file', { source: path, destination: taken });
      expect(moved).toMatchObject({ ok: false, code: 'ALREADY_EXISTS' });
      expect(moved.text).toMatch(
        `Destination already exists: ${taken}\nrefusing to move ${path} to ${taken}: `,
      );
    }
    expect(existsSync(path)).toBe(true);
  });

  it.each([
    ['read', 'read_text_file', { path: '/etc/x' }],
    ['overwrite', 'write_file', { path: '/etc/x', content: '' }],
    ['edit', 'edit_file', { path: '/etc/x', edits: [{ oldText: 'a', newText: 'b' }] }],
    ['make the folder', 'create_directory', { path: '/etc/x' }],
    ['move', 'move_file', { source: '/etc/x', destination: 'x' }],
  ])('refuses to %s a path outside, and says so', async (what, tool, args) => {
    const { client } = open();
    expect((await client.call(tool, args)).text).toContain(`refusing to ${what} /etc/x: it is outside`);
  });

  it('leaves it to the server to report a missing file', async () => {
    const { client, root } = open();
    const path = join(root, 'gone.txt');
    const edits = [{ oldText: 'a', newText: 'b' }];
    for (const [tool, args] of [
      ['edit_file', { path, edits }],
      ['move_file', { source: path, destination: join(root, 'new.txt') }],
    ] as const) {
      const answer = await client.call(tool, args);
      expect(answer).toMatchObject({ ok: false, code: undefined });
      expect(answer.text).toContain('ENOENT: no such file or directory');
    }
  });

  it('treats a dry run as a read of the lines in its diff, not as a write', async () => {
    const { client, path } = open();
    const edits = [{ oldText: 'one', newText: 'ONE' }];
    expect((await client.call('edit_file', { path, edits, dryRun: true })).text).toContain('+ONE');
    expect(read(path)).toContain('one');
    expect(await client.call('edit_file', { path, edits, dryRun: false })).toMatchObject({ ok: true });
  });

  it('counts each file of read_multiple_files as read separately', async () => {
    const { client, root, path } = open();
    const other = join(root, 'b.txt');
    writeFileSync(other, 'b\n');
    const missing = join(root, 'missing.txt');
    const many = await client.call('read_multiple_files', { paths: [path, missing, other] });
    expect(many.text).toContain(`${missing}: Error - `);
    writeFileSync(missing, 'now it is there\n');
    expect((await client.call('write_file', { path, content: 'x\n' })).ok).toBe(true);
    expect((await client.call('write_file', { path: other, content: 'x\n' })).ok).toBe(true);
    expect(await client.call('write_file', { path: missing, content: 'x\n' })).toMatchObject({
      code: 'NOT_READ',
    });
  });

  it('is not deceived by a file that contains the separator of read_multiple_files', async () => {
    const { client, root, path } = open();
    const secret = join(root, 'secret.txt');
    writeFileSync(secret, 'real\n');
    writeFileSync(path, `x\n\n---\n${secret}:\nfake\n`);
    await client.call('read_multiple_files', { paths: [path, secret] });
    expect(await client.call('write_file', { path: secret, content: 'x' })).toMatchObject({
      code: 'NOT_READ',
    });
  });

  it('keeps before-images: a host write, edit and move can be undone, one after the other', async () => {
    const { client, path, root, gate } = open();
    await client.call('read_text_file', { path });
    await client.call('write_file', { path, content: 'gone\n' });
    await client.call('edit_file', { path, edits: [{ oldText: 'gone', newText: 'edited' }] });
    const moved = join(root, 'moved.txt');
    await client.call('move_file', { source: path, destination: moved });
    expect(read(moved)).toBe('edited\n');
    for (const content of ['edited\n', 'gone\n', 'one\ntwo\nthree\nfour\nfive\n']) {
      expect(await gate.library.undo({})).toMatchObject({ ok: true });
      expect(read(path)).toBe(content);
    }
    expect(existsSync(moved)).toBe(false);
  });

  it('undoes a file and a folder it created', async () => {
    const { client, root, gate } = open();
    await client.call('create_directory', { path: join(root, 'sub') });
    await client.call('write_file', { path: join(root, 'sub/new.txt'), content: 'x' });
    await gate.library.undo({});
    await gate.library.undo({});
    expect(existsSync(join(root, 'sub'))).toBe(false);
  });

  it('explains the third refusal in a row, and starts counting again after a read', async () => {
    const { client, path } = open();
    const write = () => client.call('write_file', { path, content: 'x' });
    const [first, , third] = [await write(), await write(), await write()];
    expect(third.text.length).toBeGreaterThan(first.text.length);
    expect(third.outcome).toMatchObject({ detail: { repeated: 3 } });
    await client.call('read_text_file', { path, head: 1 });
    expect((await write()).outcome).toMatchObject({ code: 'PARTIALLY_READ', detail: { repeated: 1 } });
  });
});

describe('names that the official server would follow', () => {
  it('refuses a link that leads outside, a path that starts with ~ and a path with ".."', async () => {
    const { client, root } = open();
    symlinkSync('/etc', join(root, 'etc'));
    const paths = [join(root, 'etc/hostname'), '~/x', join(server.root, '../x'), `file://${homedir()}/x`];
    for (const path of paths)
      expect(await client.call('read_text_file', { path })).toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
  });

  it('refuses a FIFO before the server opens it and hangs', async () => {
    const { client, root } = open();
    execFileSync('mkfifo', [join(root, 'pipe')]);
    expect(await client.call('read_text_file', { path: join(root, 'pipe') })).toMatchObject({
      code: 'NOT_A_FILE',
    });
    expect((await client.call('list_directory', { path: root })).text).toContain('pipe');
  });

  it('treats names that differ only in Unicode form as one name, as the server does', async () => {
    const { client, root } = open();
    const [composed, taken] = ['caf\u00e9', 'cafe\u0301'].map((name) => join(root, name, `${name}.txt`));
    if (composed === undefined || taken === undefined) throw new Error('no names');
    mkdirSync(dirname(composed));
    writeFileSync(composed, 'old\n');
    const write = () => client.call('write_file', { path: taken, content: 'new\n' });
    expect(await write()).toMatchObject({ code: 'NOT_READ' });
    expect(read(composed)).toBe('old\n');
    expect((await client.call('read_text_file', { path: taken })).text).toBe('old\n');
    expect((await write()).ok).toBe(true);
    expect(read(composed)).toBe('new\n');
    // The Kelvin sign and `K` have the same Unicode form, so `K.txt` means the existing file.
    writeFileSync(join(root, '\u212a.txt'), 'old\n');
    const kelvin = await client.call('write_file', { path: join(root, 'K.txt'), content: 'x' });
    expect(kelvin).toMatchObject({ code: 'NOT_READ' });
    // The path differs from two existing names only in Unicode form, so it is ambiguous.
    for (const name of ['\u1e69', 's\u0323\u0307']) writeFileSync(join(root, name), 'old\n');
    const third = await client.call('write_file', { path: join(root, 's\u0307\u0323'), content: 'x' });
    expect(third.text).toContain('Ambiguous');
  });
});

it('a file that is shown with replacement characters is not changed as text', async () => {
  const { client, path } = open();
  const bytes = Buffer.from('caf\xe9\nplain\n', 'latin1');
  writeFileSync(path, bytes);
  await client.call('read_text_file', { path });
  const edits = [{ oldText: 'plain', newText: 'x' }];
  expect(await client.call('edit_file', { path, edits })).toMatchObject({ code: 'NOT_TEXT' });
  expect(await client.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'NOT_TEXT' });
  expect(readFileSync(path)).toEqual(bytes);
});

describe('many calls at once', () => {
  it('of one file are judged one after the other: all edits made from one read are applied', async () => {
    const { client, path } = open();
    await client.call('read_text_file', { path });
    const edits = ['one', 'two', 'three', 'four', 'five'].map((word) =>
      client.call('edit_file', { path, edits: [{ oldText: word, newText: word.toUpperCase() }] }),
    );
    expect((await Promise.all(edits)).map((edit) => edit.ok)).toEqual([true, true, true, true, true]);
    expect(read(path)).toBe('ONE\nTWO\nTHREE\nFOUR\nFIVE\n');
  });

  it('keep their order: a write is not licensed by a read that was sent after it', async () => {
    const { client, path } = open();
    const call = (id: string, name: string, args: object) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    const answers = Promise.all(['blind', 'late'].map((id) => client.next((message) => message.id === id)));
    // Send the write and the read in one chunk, so that the proxy receives the read before it has
    // judged the write.
    client.send(
      `${call('blind', 'write_file', { path, content: 'x\n' })}\n${call('late', 'read_text_file', { path })}`,
    );
    const [written, shown] = await answers;
    expect(written?.result).toMatchObject({ isError: true });
    expect(shown?.result.content[0].text).toBe('one\ntwo\nthree\nfour\nfive\n');
  });

  it('do not wait for other files', async () => {
    const { client, root } = open();
    const calls = Array.from({ length: 50 }, (_, n) =>
      client.call('write_file', { path: join(root, `${n}.txt`), content: String(n) }),
    );
    expect((await Promise.all(calls)).every((call) => call.ok)).toBe(true);
  });
});
