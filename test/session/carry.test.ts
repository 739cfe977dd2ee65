import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';

const edit = { oldString: 'const unique = 1;', newString: 'const unique = 2;' };
const seen = ['// head', edit.oldString, 'if (ready) {', '  start();', '}', ''].join('\n');

describe('an edit beside an outside change', () => {
  it('is applied where the anchor and a neighbouring line still are, whatever the diff aligns', async () => {
    const t = await desk();
    await t.put('a.ts', seen);
    await ok(t.session.read('a.ts'));
    // The block that followed the edited line is now before it. A diff treats that block, the
    // longest common text, as unmoved, so it marks the edited line as new.
    const live = ['if (ready) {', '  start();', '}', 'added();', '// head', edit.oldString, 'other();', ''];
    await t.put('a.ts', live.join('\n'));
    const done = await ok(t.session.edit('a.ts', [edit]));
    expect(done.notices.map((notice) => notice.kind)).toContain('changed-elsewhere');
    expect(t.text('a.ts')).toBe(live.join('\n').replace('= 1', '= 2'));
  });

  it('is applied at the end of the file, which counts as a neighbouring line', async () => {
    const t = await desk();
    await t.put('a.ts', 'start();\nstop();\n}\n\n');
    await ok(t.session.read('a.ts'));
    await t.put('a.ts', 'start();\nstop();\n}\nadded();\n}\n\n');
    await ok(t.session.edit('a.ts', [{ oldString: '}\n\n', newString: 'x\n' }]));
    expect(t.text('a.ts')).toBe('start();\nstop();\n}\nadded();\nx\n');
  });

  it('is applied to a file with too many changes for an exact diff', async () => {
    const t = await desk();
    const rows = (from: number): string[] =>
      Array.from({ length: 4000 }, (_, i) => `row ${(i * 7919 + from) % 9973}`);
    await t.put('a.ts', [...rows(0), '// head', edit.oldString, ...rows(5000), ''].join('\n'));
    await ok(t.session.read('a.ts', { limit: 9000 }));
    await t.put('a.ts', [...rows(1), '// head', edit.oldString, ...rows(5003), ''].join('\n'));
    await ok(t.session.edit('a.ts', [edit]));
    expect(t.text('a.ts')).toContain('const unique = 2;');
  });

  it.each([
    ['between other lines', ['if (ready) {', '  start();', '}', 'x', edit.oldString, 'y', '']],
    [
      'in a line that changed',
      ['if (ready) {', '  start();', '}', '// head', `${edit.oldString} // now`, ''],
    ],
  ])('is STALE if the anchor is %s', async (_what, live) => {
    const t = await desk();
    await t.put('a.ts', seen);
    await ok(t.session.read('a.ts'));
    await t.put('a.ts', live.join('\n'));
    await refusal(t.session.edit('a.ts', [edit]), 'STALE');
    expect(t.text('a.ts')).toBe(live.join('\n'));
  });

  it('is STALE when the anchor was not in the lines that were seen', async () => {
    const t = await desk();
    await t.put('a.ts', seen);
    await ok(t.session.read('a.ts', { offset: 3, limit: 3 }));
    const live = ['if (ready) {', '  start();', '}', '// head', edit.oldString, 'other();', ''];
    await t.put('a.ts', live.join('\n'));
    await refusal(t.session.edit('a.ts', [edit]), 'STALE');
  });
});
