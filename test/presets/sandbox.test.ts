import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/**
 * This preset copies an existing system (system A in the requirements), which records only which
 * paths were read. The titles begin with the numbers of that system's requirements.
 */
describe('preset sandbox', () => {
  const open = (): Promise<Desk> => desk({ preset: 'sandbox' });
  const words = { wording: 'sandbox', nowMs: 0 } as const;

  it('A3: a path that leads outside is refused, a new file inside is accepted', async () => {
    const t = await open();
    symlinkSync(t.outside, join(t.root, 'out'));
    for (const path of ['../etc/passwd', '/etc/passwd', 'out', 'out/child'])
      await refusal(t.session.read(path), 'OUTSIDE_WORKSPACE');
    await ok(t.session.write('new/nested/file.txt', 'x'));
  });

  it('A4: reading through a link marks the target file as read', async () => {
    const t = await open();
    await t.put('real.txt', 'one');
    symlinkSync('real.txt', join(t.root, 'link.txt'));
    await ok(t.session.read('link.txt'));
    await ok(t.session.write('real.txt', 'two'));
  });

  it("A6: an existing file must be read first, and the refusal uses the seed's words; a new file needs no read; empty content creates a file", async () => {
    const t = await open();
    await t.put('a.txt', 'original');
    expect(explain(await refusal(t.session.write('a.txt', 'x'), 'NOT_READ'), words)).toMatch(
      /^refusing to overwrite a\.txt: Read it first/,
    );
    expect(t.text('a.txt')).toBe('original');
    expect(await ok(t.session.write('empty.txt', ''))).toMatchObject({ created: true, sizeBytes: 0 });
    mkdirSync(join(t.root, 'd'));
    expect(explain(await refusal(t.session.write('d', 'x'), 'NOT_A_FILE'), words)).toContain(
      'path is a directory: d',
    );
  });

  it('A6: a write marks the file as read', async () => {
    const t = await open();
    await ok(t.session.write('a.txt', 'one'));
    await ok(t.session.edit('a.txt', [{ oldString: 'one', newString: 'two' }]));
    expect(t.text('a.txt')).toBe('two');
  });

  it('A8: an edit always needs a read; a missing file is reported first', async () => {
    const t = await open();
    await refusal(t.session.edit('missing.txt', [{ oldString: 'a', newString: 'b' }]), 'NOT_FOUND');
    await t.put('a.txt', 'x x');
    const refused = await refusal(t.session.edit('a.txt', [{ oldString: 'x', newString: 'y' }]), 'NOT_READ');
    expect(explain(refused, words)).toMatch(/^refusing to edit a\.txt: Read it first/);
    await ok(t.session.read('a.txt'));
    await refusal(t.session.edit('a.txt', [{ oldString: '', newString: 'y' }]), 'INVALID_ARGUMENT');
    await refusal(t.session.edit('a.txt', [{ oldString: 'z', newString: 'y' }]), 'NO_MATCH');
    await refusal(t.session.edit('a.txt', [{ oldString: 'x', newString: 'y' }]), 'AMBIGUOUS_MATCH');
    expect(
      await ok(t.session.edit('a.txt', [{ oldString: 'x', newString: '', replaceAll: true }])),
    ).toMatchObject({ replaced: 2 });
    expect(t.text('a.txt')).toBe(' ');
  });

  it('has no staleness check: after a partial read or an outside change a write passes with a notice', async () => {
    const t = await open();
    await t.put('a.txt', 'one\ntwo\nthree\n');
    await ok(t.session.read('a.txt', { limit: 1 }));
    await t.put('a.txt', 'changed\n');
    const result = await ok(t.session.write('a.txt', 'x'));
    expect(result.notices).toMatchObject([{ kind: 'stale-warning' }]);
    await ok(t.session.undo({}));
    expect(t.text('a.txt'), 'Kept holds in every preset').toBe('changed\n');
  });

  it.each(['sandbox', 'thread-history'] as const)(
    '%s: an edit over an outside change leaves the file read',
    async (preset) => {
      const t = await desk({ store: 'memory:', preset });
      for (const changed of ['one\nTWO\nthree\n', 'other\n', 'three']) {
        await t.put('a.txt', 'one\ntwo\nthree\n');
        await ok(t.session.read('a.txt'));
        await t.put('a.txt', changed);
        const [line = ''] = changed.split('\n');
        const edited = await ok(t.session.edit('a.txt', [{ oldString: line, newString: 'mine' }]));
        expect(edited.revision, 'the outside change was not shown').toBeUndefined();
        await ok(t.session.write('a.txt', 'x\n'));
      }
    },
  );

  it('a failed read does not mark the file as read', async () => {
    const t = await open();
    await refusal(t.session.read('later.txt'), 'NOT_FOUND');
    await t.put('later.txt', 'x');
    await refusal(t.session.write('later.txt', 'y'), 'NOT_READ');
    expect(existsSync(join(t.root, 'later.txt'))).toBe(true);
    expect(readFileSync(join(t.root, 'later.txt'), 'utf8')).toBe('x');
  });
});
