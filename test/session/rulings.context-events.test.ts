import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';

describe('compaction, forks and children', () => {
  it('compaction forbids overwrites and still allows edits of unchanged files', async () => {
    const t = await desk();
    await t.put('a', 'one\ntwo\n');
    await ok(t.session.read('a'));
    await t.session.compacted();
    await refusal(t.session.write('a', 'x'), 'NOT_READ');
    await ok(t.session.edit('a', [{ oldString: 'one', newString: 'uno' }]));
  });

  it('compaction forgets everything under the policy `clear`', async () => {
    const t = await desk({ policy: { compaction: 'clear' } });
    await t.put('a', 'one\n');
    await ok(t.session.read('a'));
    await t.session.compacted();
    await refusal(t.session.edit('a', [{ oldString: 'one', newString: 'x' }]), 'NOT_READ');
  });

  it('a child starts without sightings and never licenses its parent; a fork copies the sightings', async () => {
    const t = await desk({ session: 'parent' });
    await t.put('a', 'one\n');
    await t.put('b', 'one\n');
    await ok(t.session.read('a'));
    const child = await t.session.child();
    await refusal(child.write('a', 'x'), 'NOT_READ');
    await ok(child.read('b'));
    await refusal(t.session.write('b', 'x'), 'NOT_READ');
    const fork = await t.session.fork();
    await ok(fork.write('a', 'two\n'));
  });

  it('rewinding forgets later sightings', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    const before = Date.now() - 1;
    await ok(t.session.read('a'));
    await t.session.rewound(before);
    await refusal(t.session.write('a', 'x'), 'NOT_READ');
  });

  it('resuming drops sightings of changed files', async () => {
    const t = await desk({ session: 'named' });
    await t.put('same', 'one\n');
    await t.put('changed', 'one\n');
    await ok(t.session.read('same'));
    await ok(t.session.read('changed'));
    await t.session.close();
    await t.put('changed', 'other\n');
    const again = await t.open();
    await again.resumed();
    await ok(again.write('same', 'two\n'));
    await refusal(again.write('changed', 'x'), 'NOT_READ');
  });
});

describe('witness', () => {
  it('of a command reports which seen files changed', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await t.put('b', 'one\n');
    await ok(t.session.read('a'));
    await ok(t.session.read('b'));
    await t.put('b', 'two\n');
    const { notices } = await ok(t.session.witness({ kind: 'command', command: 'make' }));
    expect(notices).toEqual([{ kind: 'changed-seen-files', paths: ['b'], cut: 0 }]);
  });

  it('of a read and a write by the host licenses later changes', async () => {
    const t = await desk();
    await t.put('a', 'one\n');
    await ok(t.session.witness({ kind: 'read', path: 'a' }));
    await ok(t.session.vet({ kind: 'write', path: 'a', content: 'x' }));
    await t.put('a', 'by the host\n');
    await ok(t.session.witness({ kind: 'write', path: 'a', content: 'by the host\n' }));
    await ok(t.session.write('a', 'y\n'));
  });
});
