import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Hooked } from '../support/hooked.ts';
import { REPLAYED, ReplayedClient } from '../support/replayed-client.ts';
import { scratch } from '../support/tree.ts';

describe('a change of something that the session has not seen gets a notice', () => {
  let agent: Hooked;
  let file: string;

  beforeEach(() => {
    const places = scratch();
    agent = new Hooked(places);
    file = join(places.root, 'a.txt');
    writeFileSync(file, 'one\ntwo\nthree\n');
  });

  it('an edit of lines that were not read', async () => {
    const read = { action: 'read', input: { path: 'a.txt', offset: 1, limit: 1 }, call: 'r' };
    await agent.send({ event: 'after', ...read, output: 'one\n' });
    const input = { path: 'a.txt', old_string: 'three', new_string: '3' };
    const { context } = await agent.change('edit', input, () =>
      writeFileSync(file, readFileSync(file, 'utf8').replace('three', '3')),
    );
    expect(context).toContain('This changed line 3, which had not been read.');
  });

  it('but not an edit of lines that the session wrote itself over unread ones', async () => {
    await agent.send({
      event: 'after',
      action: 'read',
      input: { path: 'a.txt', offset: 1, limit: 1 },
      call: 'r',
      output: 'one\n',
    });
    const edit = (old_string: string, new_string: string) =>
      agent.change('edit', { path: 'a.txt', old_string, new_string }, () =>
        writeFileSync(file, readFileSync(file, 'utf8').replace(old_string, new_string)),
      );
    expect((await edit('two\nthree', 'second\nthird')).context).toContain(
      'lines 2-3, which had not been read',
    );
    expect((await edit('third', '3')).context ?? '').not.toContain('had not been read');
  });

  it('a file that was deleted since it was read', async () => {
    await agent.read('a.txt', 'one\ntwo\nthree\n');
    rmSync(file);
    const input = { path: 'a.txt', content: 'new\n' };
    const { context } = await agent.change('write', input, () => writeFileSync(file, 'new\n'));
    expect(context).toContain('The file had been deleted since it was read; it was created again.');
  });
});

describe('typographic quotes that a client writes into code', () => {
  it.each(REPLAYED)('%s: are named with their lines, in a new and in an edited file', async (name) => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.ts'), 'const a = 1;\nconst b = “2”;\n// “three”\n');
    const client = new ReplayedClient(places, name);
    await client.read('a.ts');
    const edited = await client.edit('a.ts', 'const a = 1;', 'const a = “one”;');
    expect(edited).toMatchObject({ denied: false, text: expect.stringContaining('in code: a.ts, line 1.') });
    const made = await client.write('b.ts', "const c = ‘one’;\nconst d = 'it’s';\n");
    expect(made.text).toContain('Typographic quotes in code: b.ts, line 1. Replace them with straight ones');
    expect((await client.edit('a.ts', 'const b = “2”;', 'const b = “3”;')).text).not.toContain('quotes');
    expect((await client.write('c.md', 'say “one”\n')).text).not.toContain('quotes');
    expect(readFileSync(join(places.root, 'b.ts'), 'utf8')).toContain('‘one’');
  });
});
