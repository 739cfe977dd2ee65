import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { scratch } from '../support/tree.ts';

/** A line of the exclude file, as `init` writes it. */
const ours = (line: string) => `# added by lookfirst init\n${line}\n`;

/** A project with a git repository whose exclude file ends without a newline. */
function project() {
  const places = scratch();
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e@x', ...args], {
      cwd: places.root,
      encoding: 'utf8',
    });
  git('init', '-q');
  const exclude = join(places.root, '.git/info/exclude');
  mkdirSync(join(places.root, '.git/info'), { recursive: true });
  writeFileSync(exclude, '# mine\n*.log');
  const text = (name: string) => readFileSync(join(places.root, name), 'utf8');
  const added = () => {
    git('add', '-A');
    return git('diff', '--cached', '--name-only').split('\n').filter(Boolean);
  };
  const run = async (...args: string[]) => {
    const ran = await lookfirst(places, args);
    return { ...ran, said: ran.stdout + ran.stderr };
  };
  return { places, git, exclude, text, added, run };
}

it.each(['claude-code', 'gemini', 'cursor', 'vscode', 'zed', 'opencode'])(
  'init %s keeps its files out of commits and says so, and remove restores the exclude file byte for byte',
  async (client) => {
    const { places, exclude, added, run } = project();
    const hooks = client === 'zed' ? [] : ['--hooks'];
    const init = await run('init', client, ...hooks);
    expect(init).toMatchObject({ code: 0 });
    expect(init.said).toMatch(/changed .*info\/exclude: git now ignores \S+/);
    expect(added()).toEqual([]);
    expect((await run('init', client, ...hooks)).said).not.toContain('exclude');
    expect((await run('remove', client)).code).toBe(0);
    expect(readFileSync(exclude, 'utf8')).toBe('# mine\n*.log');
    expect(added()).toEqual([]);
    expect(existsSync(join(places.root, '.git'))).toBe(true);
  },
);

it('keeps the lines of the other client, in either order of removal, and a later line of the user', async () => {
  for (const [first, second] of [
    ['gemini', 'cursor'],
    ['cursor', 'gemini'],
  ] as const) {
    const { exclude, run } = project();
    await run('init', 'gemini');
    await run('init', 'cursor');
    await run('remove', first);
    const other = second === 'gemini' ? '/.gemini/settings.json' : '/.cursor/mcp.json';
    expect(readFileSync(exclude, 'utf8')).toBe(`${ours(other)}# mine\n*.log`);
    await run('remove', second);
    expect(readFileSync(exclude, 'utf8')).toBe('# mine\n*.log');
  }
  const { exclude, run } = project();
  await run('init', 'cursor');
  writeFileSync(exclude, `${readFileSync(exclude, 'utf8')}\n*.tmp\n`);
  await run('remove', 'cursor');
  expect(readFileSync(exclude, 'utf8')).toBe('# mine\n*.log\n*.tmp\n');
});

it('excludes by the path from the top of the repository, and creates a missing exclude file', async () => {
  const { places, exclude, run, git } = project();
  rmSync(join(places.root, '.git/info'), { recursive: true });
  mkdirSync(join(places.root, 'app'));
  const app = { ...places, root: join(places.root, 'app') };
  expect((await lookfirst(app, ['init', 'cursor'])).code).toBe(0);
  expect(readFileSync(exclude, 'utf8')).toBe(ours('/app/.cursor/mcp.json'));
  expect(git('status', '--short')).toBe('');
  expect((await lookfirst(app, ['remove', 'cursor'])).code).toBe(0);
  expect(existsSync(exclude)).toBe(false);
  expect((await run('init', 'cursor', '--dry-run')).said).toMatch(/would create .*info\/exclude/);
  expect(existsSync(exclude)).toBe(false);
});

it('--scope local writes the file in the project, for this user only', async () => {
  const { places, exclude, text, added, run } = project();
  expect(await run('init', 'codex', '--scope', 'local')).toMatchObject({ code: 0 });
  expect(text('.codex/config.toml')).toContain('[mcp_servers.lookfirst]');
  expect(existsSync(join(places.home, '.codex/config.toml'))).toBe(false);
  expect(added()).toEqual([]);
  expect(await run('remove', 'codex', '--scope', 'local')).toMatchObject({ code: 0 });
  expect(existsSync(join(places.root, '.codex'))).toBe(false);
  expect(readFileSync(exclude, 'utf8')).toBe('# mine\n*.log');
});

it('--scope project shares an entry that starts by npx and names no path of this machine', async () => {
  const { places, exclude, text, added, run } = project();
  const init = await run('init', 'claude-code', '--scope', 'project', '--hooks');
  expect(init).toMatchObject({ code: 0 });
  expect(text('.mcp.json')).toContain('"npx"');
  for (const path of [places.home, places.root, process.execPath])
    expect(text('.mcp.json')).not.toContain(path);
  // Claude Code's file for one user stays out of commits all the same.
  expect(readFileSync(exclude, 'utf8')).toBe(`${ours('/.claude/settings.local.json')}# mine\n*.log`);
  expect(added()).toEqual(['.mcp.json']);
});

it.each([['gemini', '--hooks'], ['zed'], ['cursor', '--command', 'node']])(
  '--scope project refuses init %s %s, which needs a path of this machine',
  async (...args) => {
    const { added, run } = project();
    const ran = await run('init', ...args, '--scope', 'project');
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.said).toMatch(/a path of this machine; use --scope user/);
    expect(added()).toEqual([]);
  },
);

it('writes no path of this machine into a file that people commit already', async () => {
  const { git, text, run } = project();
  expect((await run('init', 'cursor', '--command', 'npx')).code).toBe(0);
  git('add', '-f', '.cursor/mcp.json');
  git('commit', '-qm', 'one');
  const before = text('.cursor/mcp.json');
  const ran = await run('init', 'cursor', '--command', 'node');
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.said).toMatch(/git tracks it, so other people would get .*, a path of this machine/);
  expect(text('.cursor/mcp.json')).toBe(before);
  // With hooks, the server can stay out.
  const hooked = await run('init', 'cursor', '--command', 'node', '--hooks');
  expect(hooked.code).toBe(0);
  expect(hooked.said).toMatch(/^added to Cursor: checks of its own file and shell tools$/m);
  expect(hooked.said).toMatch(
    /^left .*mcp\.json alone: git tracks it, .*\. The hooks work without the server$/m,
  );
  expect(text('.cursor/mcp.json')).toBe(before);
  expect(text('.cursor/hooks.json')).toContain('lookfirst-hook');
});
