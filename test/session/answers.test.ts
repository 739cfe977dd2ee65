import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { toolset } from '../../src/tools/toolset.ts';
import { desk, ok, refusal } from '../support/desk.ts';

const NOW = { nowMs: 0 };

describe('next steps that work', () => {
  it('NO_MATCH in a file that was seen whole and is unchanged asks for no read, whatever text was sent', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\n');
    await ok(t.session.read('a.txt'));
    const edits = [{ oldString: 'quite another text', newString: 'x' }];
    for (let tries = 1; tries <= 3; tries += 1) {
      const text = explain(await refusal(t.session.edit('a.txt', edits), 'NO_MATCH'), NOW);
      expect(text).toContain('unchanged since');
      expect(text).not.toContain('read_file');
    }
  });

  it('NO_MATCH of a text that another session changed since the read says so, and names the read', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\nthree\nfour\nfive\n');
    await ok(t.session.read('a.txt'));
    const other = await t.open();
    await ok(other.read('a.txt'));
    await ok(other.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    const own = await ok(t.session.edit('a.txt', [{ oldString: 'five', newString: '5' }]));
    expect(own.notices).toMatchObject([{ kind: 'changed-elsewhere' }]);
    const edit = (oldString: string) => t.session.edit('a.txt', [{ oldString, newString: 'x' }]);
    const text = explain(await refusal(edit('two'), 'NO_MATCH'), NOW);
    expect(text).toContain('It was there when you saw the file, and was changed since.');
    expect(text).toContain('Next: read_file {"path":"a.txt"}');
    expect(text).not.toContain('unchanged since');
    const never = explain(await refusal(edit('quite another text'), 'NO_MATCH'), NOW);
    expect(never).toContain('copied exactly from what you last saw of it');
  });

  it('NO_MATCH in a file that was seen in part names the read', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\ntwo\nthree\n');
    await ok(t.session.read('a.txt', { limit: 1 }));
    const edits = [{ oldString: 'quite another text', newString: 'x' }];
    const text = explain(await refusal(t.session.edit('a.txt', edits), 'NO_MATCH'), NOW);
    expect(text).toContain('read_file');
  });

  it('a client whose calls share no memory is pointed to the revision', () => {
    const refused = { code: 'NOT_READ', action: 'overwrite', path: 'a.txt', next: 'read' } as const;
    expect(explain(refused, NOW)).not.toContain('expected_revision');
    const text = explain(refused, { ...NOW, forgets: true });
    expect(text).toContain('read_file {"path":"a.txt"}, then repeat the change with expected_revision');
    expect(text).toContain('/mcp/NAME');
  });

  it('a refusal in the dialect `sandbox` names a tool that lists a folder', async () => {
    const t = await desk();
    await t.put('d/a.txt', 'one\n');
    const { tools } = toolset(t.session, { dialect: 'sandbox' });
    const read = tools.find(({ name }) => name === 'Read');
    expect(await read?.call({ file_path: 'd' })).toMatchObject({ text: expect.stringContaining('Glob') });
  });
});

describe('answers about unusual targets', () => {
  it('the kept output of a command cannot be changed', async () => {
    const t = await desk();
    const path = 'lookfirst-output:1';
    await t.put('a.txt', 'one\n');
    await refusal(t.session.write(path, 'x'), 'INVALID_ARGUMENT');
    await refusal(t.session.append(path, 'x'), 'INVALID_ARGUMENT');
    await refusal(t.session.move('a.txt', path), 'INVALID_ARGUMENT');
    await refusal(t.session.apply([{ kind: 'write', path, content: 'x' }]), 'INVALID_ARGUMENT');
    expect((await ok(t.session.list('.'))).entries.map(({ path: name }) => name)).toEqual(['a.txt']);
  });

  it('markRead of a missing file is NOT_FOUND', async () => {
    const t = await desk();
    await refusal(t.session.markRead('a.txt'), 'NOT_FOUND');
    await t.put('a.txt', 'one\n');
    await ok(t.session.markRead('a.txt'));
  });

  it('the outcome of an undo has `changed: true`', async () => {
    const t = await desk();
    await ok(t.session.write('a.txt', 'one\n'));
    const { tools } = toolset(t.session, { dialect: 'lookfirst' });
    const undo = tools.find(({ name }) => name === 'undo_change');
    expect(await undo?.call({})).toMatchObject({ outcome: { ok: true, changed: true } });
  });
});
