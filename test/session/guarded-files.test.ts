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

it.each(['.bashrc', '.zshrc', '.profile'])(
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

it('a client configuration is protected by its content: our entries and keys that switch hooks off', async () => {
  const { session, put } = await setUp();
  const path = '.claude/settings.json';
  const refused = { refusal: { code: 'PROTECTED', path } };
  expect(await session.write(path, '{"disableAllHooks":true}\n')).toMatchObject(refused);
  expect(await session.write(path, '{"model":"x"}\n')).toMatchObject({ ok: true });
  const off = [{ oldString: '"model"', newString: '"disableAllHooks":true,"model"' }];
  expect(await session.edit(path, off)).toMatchObject(refused);
  expect(await session.vet({ kind: 'edit', path, edits: off })).toMatchObject(refused);
  await session.write('evil.json', '{"disableAllHooks":true}\n');
  expect(await session.move('evil.json', path)).toMatchObject({ refusal: { code: 'PROTECTED' } });
  expect(await session.copy('evil.json', path)).toMatchObject(refused);
  expect(await session.delete(path)).toMatchObject({ ok: true });
  put(path, OURS);
  await session.read(path);
  const edits = [{ oldString: 'PreToolUse', newString: 'Never' }];
  expect(await session.edit(path, edits)).toMatchObject(refused);
  expect(await session.delete(path)).toMatchObject(refused);
  expect(await session.move(path, 'away.json')).toMatchObject({ refusal: { code: 'PROTECTED' } });
  const other = [{ oldString: '{"hooks"', newString: '{"theme":"dark","hooks"' }];
  expect(await session.edit(path, other)).toMatchObject({ ok: true });
});

it('a folder with settings that switch hooks off may not become the folder of a client', async () => {
  const { session } = await setUp();
  await session.write('evil/settings.json', '{"disableAllHooks":true}\n');
  await session.delete('.claude');
  await session.list('.', { depth: 9 });
  expect(await session.move('evil', '.claude')).toMatchObject({ refusal: { code: 'PROTECTED' } });
  expect(await session.move('evil', 'good')).toMatchObject({ ok: true });
});

it('a batch is refused as a whole if one of its files switches hooks off', async () => {
  const { session } = await setUp();
  const changes = [
    { kind: 'write', path: 'a.txt', content: 'x\n' },
    { kind: 'write', path: '.gemini/settings.json', content: '{"hooksConfig":{"enabled":false}}\n' },
  ] as const;
  expect(await session.apply(changes)).toMatchObject({ refusal: { code: 'PROTECTED' } });
  expect(await session.read('a.txt')).toMatchObject({ ok: false });
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
  const path = '.claude/settings.json';
  const { session } = await setUp({ commands: { trust: [path] } });
  expect(await session.write(path, '{"disableAllHooks":true}\n')).toMatchObject({ ok: true });
  expect(await session.write('.bashrc', 'x\n')).toMatchObject({ ok: false });
});
