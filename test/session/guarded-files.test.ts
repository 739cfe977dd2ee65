import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { scratch } from '../support/tree.ts';

const OURS = '{"hooks":{"PreToolUse":[{"command":"lookfirst hook claude-code"}]}}\n';

async function setUp(policy: object = {}) {
  const { root, home } = scratch();
  const session = await openSession({ roots: [root], home, store: 'memory:', policy });
  onTestFinished(() => session.close());
  mkdirSync(join(root, '.claude'));
  const put = (name: string, text: string) => writeFileSync(join(root, name), text);
  return { root, session, put };
}

it.each(['.mcp.json', '.bashrc', '.zshrc', '.profile'])(
  'a session may read %s and not change, create, replace or delete it',
  async (name) => {
    const { root, session, put } = await setUp();
    const refused = { ok: false, refusal: { code: 'PROTECTED', next: 'ask_human' } };
    expect(await session.write(name, 'x\n')).toMatchObject(refused);
    put(name, 'one\n');
    put('other.txt', 'other\n');
    expect(await session.read(name)).toMatchObject({ ok: true });
    expect(await session.vet({ kind: 'write', path: name, content: 'x\n' })).toMatchObject(refused);
    expect(await session.write(name, 'x\n')).toMatchObject(refused);
    expect(await session.edit(name, [{ oldString: 'one', newString: 'two' }])).toMatchObject(refused);
    expect(await session.append(name, 'x\n')).toMatchObject(refused);
    expect(await session.delete(name)).toMatchObject(refused);
    expect(await session.move('other.txt', name)).toMatchObject(refused);
    expect(await session.move(name, 'elsewhere.txt')).toMatchObject(refused);
    expect(readFileSync(join(root, name), 'utf8')).toBe('one\n');
  },
);

it('a client configuration is protected only while it contains our entries', async () => {
  const { session, put } = await setUp();
  put('.claude/settings.json', '{}\n');
  await session.read('.claude/settings.json');
  expect(await session.write('.claude/settings.json', '{"model":"x"}\n')).toMatchObject({ ok: true });
  put('.claude/settings.json', OURS);
  await session.read('.claude/settings.json');
  const edits = [{ oldString: 'PreToolUse', newString: 'Never' }];
  expect(await session.edit('.claude/settings.json', edits)).toMatchObject({
    refusal: { code: 'PROTECTED' },
  });
  expect(await session.delete('.claude/settings.json')).toMatchObject({ refusal: { code: 'PROTECTED' } });
});

it.each([
  ['a start-up file', 'sub/home/.bashrc', 'x\n'],
  ['our entries in a client configuration', 'sub/.claude/settings.json', OURS],
])('refuses to move or delete a folder with %s', async (_, name, text) => {
  const { root, session, put } = await setUp();
  mkdirSync(join(root, name, '..'), { recursive: true });
  put(name, text);
  await session.list('.', { depth: 9 });
  const refused = { refusal: { code: 'PROTECTED', path: 'sub' } };
  expect(await session.move('sub', 'other')).toMatchObject(refused);
  expect(await session.delete('sub', { recursive: true })).toMatchObject(refused);
  expect(readFileSync(join(root, name), 'utf8')).toBe(text);
  put(name, '{}\n');
  if (name.endsWith('.json'))
    expect(await session.delete('sub', { recursive: true })).toMatchObject({ ok: true });
});

it('the policy can release each of these files', async () => {
  const { session } = await setUp({ commands: { trust: ['.mcp.json'] } });
  expect(await session.write('.mcp.json', '{}\n')).toMatchObject({ ok: true });
  expect(await session.write('.bashrc', 'x\n')).toMatchObject({ ok: false });
});
