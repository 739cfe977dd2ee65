import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { FileIntent } from '../../src/model/intent.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openStore } from '../../src/store/open-state.ts';
import { toolset } from '../../src/tools/toolset.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

const USES: readonly (readonly [string, FileIntent])[] = [
  ['a write', { kind: 'write', path: 'gen/a', content: 'x\n' }],
  ['an edit', { kind: 'edit', path: 'gen/a', edits: [{ oldString: 'one', newString: 'two' }] }],
  ['an insert', { kind: 'insert', path: 'gen/a', afterLine: 1, content: 'x' }],
  ['a delete', { kind: 'delete', path: 'gen/a' }],
  ['a move onto the file', { kind: 'move', source: 'b', destination: 'gen/a' }],
];

it.each(USES)(
  '%s that the operator’s bypass allowed says so in the answer and in the journal',
  async (_what, intent) => {
    const t = await desk({ policy: { bypass: ['gen/**'] } });
    await t.put('gen/a', 'one\n');
    await t.put('b', 'b\n');
    const told = [{ kind: 'bypassed', glob: 'gen/**' }];
    expect((await ok(t.session.vet(intent))).notices).toEqual(told);
    const { change, results } = await ok(t.session.perform(intent));
    expect(results[0]?.notices).toEqual(told);
    await t.session.close();

    const store = await openStore(`sqlite:${join(t.home, 'lookfirst.db')}`);
    const entries = await store.entries({ kinds: ['bypass'] });
    await store.close();
    const text = "allowed without a read, by the user's rule for gen/**";
    expect(entries).toMatchObject([{ path: 'gen/a', change, text }]);
  },
);

it('a change of a seen file needs no bypass, and none is journalled', async () => {
  const t = await desk({ policy: { bypass: ['gen/**'] } });
  await t.put('gen/a', 'one\n');
  await ok(t.session.read('gen/a'));
  expect((await ok(t.session.write('gen/a', 'x\n'))).notices).toEqual([]);
  await t.session.close();
  const store = await openStore(`sqlite:${join(t.home, 'lookfirst.db')}`);
  expect(await store.entries({ kinds: ['bypass'] })).toEqual([]);
  await store.close();
});

it.each([
  ['its session', { sessions: ['agent-*'] }, 'the session agent-*'],
  ['its path and session', { paths: ['gen/**'], sessions: ['agent-7'] }, 'gen/**, the session agent-7'],
])('a rule for %s exempts the change', async (_what, rule, glob) => {
  const t = await desk({ session: 'agent-7', policy: { bypass: [rule] } });
  await t.put('gen/a', 'one\n');
  const { notices } = await ok(t.session.write('gen/a', 'x\n'));
  expect(notices).toEqual([{ kind: 'bypassed', glob }]);
});

it.each([
  ['another session', { sessions: ['other'] }],
  ['another path of the session', { paths: ['src/**'], sessions: ['agent-7'] }],
  ['a tool, if no tool was called', { tools: ['write_file'] }],
])('a rule for %s does not exempt the change', async (_what, rule) => {
  const t = await desk({ session: 'agent-7', policy: { bypass: [rule] } });
  await t.put('gen/a', 'one\n');
  await refusal(t.session.write('gen/a', 'x\n'), 'NOT_READ');
});

it('a rule for a tool exempts its calls and no others', async () => {
  const t = await desk({ policy: { bypass: [{ tools: ['write_file'] }] } });
  await t.put('a', 'one\n');
  const { tools } = toolset(t.session, { dialect: 'lookfirst' });
  const call = (name: string, args: object) =>
    (tools.find((tool) => tool.name === name) ?? expect.fail(name)).call({ path: 'a', ...args });
  expect(await call('edit_file', { old_string: 'one', new_string: 'two' })).toMatchObject({ ok: false });
  expect(await call('write_file', { content: 'x\n' })).toMatchObject({ ok: true });
});

it('a policy for one session of many is refused, not ignored', async () => {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  const options = { policy: { seen: 'optional' } } as unknown as string;
  await expect(sessions.session('agent-7', options)).rejects.toMatchObject({ code: 'MISUSE' });
});
