import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;
let calls = 0;

beforeEach(() => {
  places = scratch();
  agent = new Hooked(places);
});

function put(path: string, text: string): string {
  const file = path.startsWith('/') ? path : join(places.root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

async function asked(action: string, input: object) {
  calls += 1;
  return agent.send({ event: 'before', action, input, call: `call-${calls}` });
}

const OURS = '{"theme":"dark","hooks":{"PreToolUse":[{"command":"lookfirst-hook"}]}}\n';

/** For each client: a settings file, a text that switches hooks off or starts a program, and a harmless one. */
const CLIENTS: readonly (readonly [path: string, bad: string, good: string])[] = [
  ['.claude/settings.json', '{"disableAllHooks":true}', '{"model":"opus"}'],
  ['.claude/settings.local.json', '{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}', '{"theme":"dark"}'],
  ['.codex/config.toml', '[features]\nhooks = false\n', 'model = "x"\n'],
  ['.codex/hooks.json', '{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}', '{"hooks":{}}'],
  ['.gemini/settings.json', '{"hooksConfig":{"enabled":false}}', '{"theme":"dark"}'],
  ['.cursor/hooks.json', '{"version":1,"hooks":{"stop":[{"command":"x"}]}}', '{"version":1,"hooks":{}}'],
  ['.github/hooks/mine.json', '{"hooks":{"Stop":[{"command":"x"}]}}', '{"hooks":{}}'],
  ['.vscode/settings.json', '{"chat.useHooks":false}', '{"editor.tabSize":2}'],
  [
    '.vscode/tasks.json',
    '{"tasks":[{"command":"x","runOptions":{"runOn":"folderOpen"}}]}',
    '{"tasks":[{"command":"make"}]}',
  ],
  ['.zed/settings.json', '{"context_servers":{"x":{"command":"x"}}}', '{"theme":"dark"}'],
  ['opencode.json', '{"plugin":["x"]}', '{"theme":"x"}'],
];

it.each(['git clean -fdx', 'git clean -fdX', 'cd src && git clean -fdx ..'])(
  'our entries do not go with %s, also if it is repeated',
  async (command) => {
    put('.claude/settings.local.json', OURS);
    put('.gitignore', '.claude\ndist\n');
    put('src/a.txt', 'one\n');
    put('dist/old.txt', 'old\n');
    execFileSync('git', ['init', '-q'], { cwd: places.root });
    await agent.prompt('clean up');
    for (let time = 0; time < 2; time += 1)
      expect((await asked('run', { command })).reason).toMatch(
        /would remove Lookfirst from a client's settings \[WOULD_DESTROY\](.|\n)*settings\.local\.json: has the entries/,
      );
    const around = await asked('run', { command: `${command} -e .claude` });
    expect(around.reason ?? '').not.toContain('Lookfirst from');
  },
);

describe('a host that writes the settings of a client', () => {
  it.each(CLIENTS)('%s: is judged by its content, by its tools and its shell', async (path, bad, good) => {
    const write = (content: string) => asked('write', { path, content });
    expect(await write(bad)).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('[PROTECTED]'),
    });
    expect((await write(good)).verdict).toBe('pass');
    const line = (content: string) =>
      asked('run', { command: `mkdir -p x && cat > ${path} <<'E'\n${content}\nE` });
    expect((await line(bad)).reason).toContain('[PROTECTED]');
    expect((await line(good)).verdict).toBe('pass');
    put(path, good);
    await agent.read(path, good);
    expect((await asked('edit', { path, old_string: good, new_string: bad })).reason).toContain(
      '[PROTECTED]',
    );
  });

  it.each(CLIENTS)('%s: is judged outside the workspace too', async (path, bad, good) => {
    const file = put(
      join(
        places.outside,
        path.replace('.zed', '.config/zed').replace('opencode', '.config/opencode/opencode'),
      ),
      good,
    );
    expect((await asked('write', { path: file, content: bad })).reason).toContain('[PROTECTED]');
    expect((await asked('edit', { path: file, old_string: good, new_string: bad })).reason).toContain(
      '[PROTECTED]',
    );
    expect((await asked('edit', { path: file, old_string: good, new_string: `${good} ` })).verdict).toBe(
      'pass',
    );
    const twin = join(places.outside, 'notes', path);
    expect((await asked('write', { path: join(dirname(twin), 'notes.md'), content: 'x' })).verdict).toBe(
      'pass',
    );
  });
});

describe('a shell line that puts another file in the place of settings', () => {
  it.each(CLIENTS)('%s: is judged by the content of that file', async (path, bad, good) => {
    put('bad.json', bad);
    put('good.json', good);
    put(`${dirname(path)}/other.txt`, 'x\n');
    for (const line of [
      'cp SOURCE PATH',
      'mv SOURCE PATH',
      'f=PATH; cp -f SOURCE "$f"',
      'cat SOURCE > PATH',
    ]) {
      const run = (source: string) =>
        asked('run', { command: line.replace('SOURCE', source).replace('PATH', path) });
      expect([line, (await run('bad.json')).reason]).toEqual([line, expect.stringContaining('[PROTECTED]')]);
      expect([line, (await run('good.json')).verdict]).toEqual([line, 'pass']);
    }
    for (const command of [`ln -s ../bad.json ${path}`, `ln bad.json ${path}`])
      expect((await asked('run', { command })).reason).toContain('[PROTECTED]');
  });
});

it.each(CLIENTS)(
  '%s: a session is told if its script has set what only the user may set',
  async (path, bad, good) => {
    put('bad.txt', bad);
    put('good.txt', good);
    const script = (from: string) =>
      put(join(places.outside, 'script.sh'), `mkdir -p ${dirname(path)}; cat ${from} > ${path}`);
    const run = (from: string) => agent.shell(`sh ${script(from)}`);
    expect((await run('good.txt')).context ?? '').not.toContain('only the user');
    const { context } = await run('bad.txt');
    const told = `The command changed ${path}, which only the user may do: `;
    expect(context).toContain(told);
    expect((await agent.shell('true')).context ?? '').not.toContain(told);
    expect((await lookfirst(places, ['log', '--kind', 'notice'])).stdout).toContain(
      'only the user may change',
    );
    const change = /lookfirst undo (\w+)/.exec(context ?? '')?.[1] ?? '';
    expect(await lookfirst(places, ['undo', change, '--yes'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(places.root, path), 'utf8')).toBe(good);
  },
);

describe('a host that changes a file with our entries', () => {
  it('may change other keys, and nothing of ours', async () => {
    const path = '.claude/settings.json';
    put(path, OURS);
    await agent.read(path, OURS);
    const edit = (old_string: string, new_string: string) => asked('edit', { path, old_string, new_string });
    expect((await edit('lookfirst-hook', 'true')).reason).toContain('[PROTECTED]');
    expect((await edit('"dark"', '"light","disableAllHooks":true')).reason).toContain('[PROTECTED]');
    expect((await asked('write', { path, content: '{}' })).reason).toContain('[PROTECTED]');
    expect((await asked('write', { path, content: OURS.replace('dark', 'light') })).verdict).toBe('pass');
    expect((await edit('"dark"', '"light"')).verdict).toBe('pass');
    expect(readFileSync(join(places.root, path), 'utf8')).toBe(OURS);
  });

  it('may write it by a shell line that shows the new text, if our entries stay', async () => {
    const path = '.gemini/settings.json';
    put(path, OURS);
    await agent.read(path, OURS);
    const line = (text: string) => asked('run', { command: `cat > ${path} <<'E'\n${text}E` });
    expect((await line('{}\n')).reason).toContain('[PROTECTED]');
    expect((await line(OURS.replace('dark', 'light'))).verdict).toBe('pass');
    expect((await asked('run', { command: `cat > ${path} <<'E'\n${OURS}E\nrm ${path}` })).reason).toContain(
      '[PROTECTED]',
    );
  });

  it('may not edit a key that switches hooks off with a program', async () => {
    put('.gemini/settings.json', '{"hooksConfig":{"enabled":true}}');
    const command = `sed -i 's/"hooksConfig":{"enabled":true/"hooksConfig":{"enabled":false/' .gemini/settings.json`;
    expect((await asked('run', { command })).reason).toContain('[PROTECTED]');
    expect((await asked('run', { command: `sed -i 's/a/b/' .gemini/settings.json` })).reason).not.toContain(
      '[PROTECTED]',
    );
  });
});

it('git may check out a commit that touches the folders of clients', async () => {
  for (const command of ['git checkout main', 'git merge feature', 'git revert HEAD', 'git stash pop'])
    expect(await asked('run', { command })).toMatchObject({ verdict: 'pass' });
});
