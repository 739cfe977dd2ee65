import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { environment, lookfirst, PROGRAM } from '../support/command-line.ts';
import { type Desk, desk, ok } from '../support/desk.ts';
import { scratch, treeOf } from '../support/tree.ts';

async function changedDesk(): Promise<Desk> {
  const work = await desk({ session: 'agent-7' });
  await ok(work.session.write('a.txt', 'one\n'));
  await work.session.close();
  return work;
}

async function inDatabase(work: Desk, sql: string): Promise<void> {
  const db = (await loadSqlite())(join(work.home, 'lookfirst.db'));
  db.exec(sql);
  db.close();
}

const COMMANDS = [
  ['status'],
  ['log'],
  ['log', '--verify'],
  ['diff'],
  ['undo'],
  ['sessions'],
  ['gc'],
] as const;

describe('a state that cannot be used ends every command with 1 and changes nothing', () => {
  it.each<[string, (work: Desk) => Promise<void> | void, RegExp]>([
    [
      'a file that is not a database',
      ({ home }) => {
        // Replace the database by a new file. Processes that have the old file open keep using the
        // old one.
        for (const end of ['', '-wal', '-shm']) rmSync(join(home, `lookfirst.db${end}`), { force: true });
        writeFileSync(join(home, 'lookfirst.db'), 'x'.repeat(9000));
      },
      /it is damaged; restart the Lookfirst server, which moves it aside and creates a new one \[STORE_FAILED\]/,
    ],
    [
      'a database of a newer Lookfirst',
      (work) => inDatabase(work, 'pragma user_version = 99'),
      /has schema version 99, and this Lookfirst knows versions up to \d+: update Lookfirst.*\[STORE_FAILED\]/,
    ],
    [
      'a database of another program',
      (work) => inDatabase(work, 'pragma user_version = 0'),
      /another program's database: choose another store \[STORE_FAILED\]/,
    ],
  ])('%s', async (_what, damage, message) => {
    const work = await changedDesk();
    await damage(work);
    const before = [treeOf(work.root), readdirSync(work.home)];
    const ran = await Promise.all(COMMANDS.map((args) => lookfirst(work, args)));
    for (const [index, { code, stdout, stderr }] of ran.entries())
      expect({ args: COMMANDS[index], code, stdout, stderr }).toEqual({
        args: COMMANDS[index],
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(message),
      });
    expect([treeOf(work.root), readdirSync(work.home).filter((name) => !/-(wal|shm)$/.test(name))]).toEqual([
      before[0],
      before[1]?.filter((name) => !/-(wal|shm)$/.test(name)),
    ]);
  });

  it('a state folder that cannot be created', async () => {
    const work = await changedDesk();
    const env = { LOOKFIRST_HOME: '/proc/lookfirst/state' };
    const { code, stderr } = await lookfirst(work, ['gc'], { env });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/state folder cannot be used.*\[STORE_FAILED\]/),
    ]);
    const init = await lookfirst(work, ['init', 'claude-code', '--hooks'], { env });
    expect([init.code, init.stderr]).toEqual([1, expect.stringMatching(/state folder cannot be used/)]);
    const blind = { file_path: join(work.root, 'a.txt'), content: '' };
    const event = {
      session_id: 's',
      hook_event_name: 'PreToolUse',
      cwd: work.root,
      tool_name: 'Write',
      tool_input: blind,
    };
    const hook = await lookfirst(work, ['hook', 'claude-code'], { env, input: JSON.stringify(event) });
    expect([hook.code, hook.stderr]).toEqual([2, expect.stringMatching(/state folder cannot be used/)]);
    // `log` only reads, so it does not try to create the state folder, and succeeds.
    expect((await lookfirst(work, ['log'], { env })).code).toBe(0);
  });
});

it('demo says that SQLite is missing, and plays no scene without it', () => {
  const places = scratch();
  const without = join(places.base, 'without-sqlite.cjs');
  // Removes Node's own SQLite and the package that replaces it.
  writeFileSync(
    without,
    `const Module = require('module');
    const [resolve, builtIn] = [Module._resolveFilename, process.getBuiltinModule];
    process.getBuiltinModule = (name) => (name === 'node:sqlite' ? undefined : builtIn(name));
    Module._resolveFilename = (name, ...rest) => {
      if (name === '@photostructure/sqlite') throw new Error('not installed');
      return resolve(name, ...rest);
    };`,
  );
  const [program = '', ...args] = PROGRAM;
  const env = environment(places, { NODE_OPTIONS: `--require=${without}` });
  const ran = spawnSync(program, [...args, 'demo'], { env, encoding: 'utf8' });
  expect([ran.status, ran.stdout]).toEqual([1, '']);
  expect(ran.stderr).toMatch(/^lookfirst: this Node has no SQLite .*\[STORE_FAILED\]\n$/);
});

it('an error that no code catches ends the program with one line; NODE_DEBUG prints its stack', () => {
  const places = scratch();
  const provoking = join(places.base, 'provoking.cjs');
  writeFileSync(provoking, "setTimeout(() => { throw new TypeError('provoked'); }, 50);");
  const [program = '', ...args] = PROGRAM;
  const run = (more: Readonly<Record<string, string>>) => {
    const env = environment(places, { NODE_OPTIONS: `--require=${provoking}`, ...more });
    return spawnSync(program, [...args, 'doctor'], { env, encoding: 'utf8' });
  };
  const [plain, debugged] = [run({}), run({ NODE_DEBUG: 'lookfirst' })];
  expect(plain.stderr).toBe(
    'lookfirst: provoked: this is a bug, please report it (NODE_DEBUG=lookfirst shows its place) [BUG]\n',
  );
  expect([plain.status, debugged.status]).toEqual([1, 1]);
  expect(debugged.stderr).toMatch(/TypeError: provoked\n\s+at /);
});

it.each([
  ['the folder of the scripts cannot be made', 'bin', 'file'],
  ['a script cannot be written', 'bin/lookfirst-hook/folder', 'folder'],
])('init --hooks prints no stack trace if %s', async (_what, name, kind) => {
  const places = scratch();
  const path = join(places.home, name);
  if (kind === 'file') writeFileSync(path, '');
  else mkdirSync(path, { recursive: true });
  const ran = await lookfirst(places, ['init', 'claude-code', '--hooks']);
  expect([ran.code, ran.stderr]).toEqual([
    1,
    expect.stringMatching(/^lookfirst: the state folder cannot be used: .*\[STORE_FAILED\]\n$/),
  ]);
  expect(readdirSync(places.root)).toEqual([]);
  if (kind === 'folder') expect(readdirSync(join(places.home, 'bin'))).toEqual(['lookfirst-hook']);
});

it('a state folder that is not a folder ends every command with 1 and a sentence', async () => {
  const work = await changedDesk();
  const env = { LOOKFIRST_HOME: join(work.root, 'a.txt') };
  for (const args of COMMANDS) {
    const { code, stderr } = await lookfirst(work, args, { env });
    expect([args, code, stderr]).toEqual([
      args,
      1,
      expect.stringMatching(/^lookfirst: .*\[(STORE_FAILED|CONFIG_INVALID)\]\n$/),
    ]);
  }
});

it('the error about an invalid policy file names the file', async () => {
  const work = await changedDesk();
  writeFileSync(join(work.base, 'mine.json'), '{');
  for (const args of [['gc'], ['undo']]) {
    const { code, stderr } = await lookfirst(work, [...args, '--policy', '../mine.json']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/mine\.json:1:2: .*\[CONFIG_INVALID\]/)]);
  }
});

describe('ends with 1 and one sentence', () => {
  const inShell = (work: Desk, script: string): { status: number | null; stderr: string } => {
    const options = { cwd: work.root, env: environment(work), encoding: 'utf8' } as const;
    return spawnSync('bash', ['-c', script, 'bash', ...PROGRAM], options);
  };

  it.each([
    ['serve', '.'],
    ['proxy', '--root', '.', '--', 'cat'],
  ])('when the port is taken: %s', async (command, ...rest) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await lookfirst(await changedDesk(), [command, '--http', `${port}`, ...rest]);
    taken.close();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^lookfirst: could not serve on 127\.0\.0\.1:\d+: .* \[IO_FAILED\]\n$/),
    ]);
  });

  it('when the output device is full', async () => {
    const { status, stderr } = inShell(await changedDesk(), '"$@" log > /dev/full');
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^lookfirst: .*ENOSPC.*\[IO_FAILED\]\n$/)]);
  });

  it.each(['log', 'serve', 'nonsense'])('when the current folder was deleted: %s', async (command) => {
    const script = `mkdir gone && cd gone && rmdir ../gone && "$@" ${command} < /dev/null`;
    const { status, stderr } = inShell(await changedDesk(), script);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^lookfirst: the current folder no longer exists.*\n$/),
    ]);
  });

  it.each(['version', '--version', '--help', 'help', 'log --help', 'serve --help'])(
    'but not in a deleted current folder: %s',
    async (command) => {
      const script = `mkdir gone && cd gone && rmdir ../gone && "$@" ${command} < /dev/null`;
      const { status, stderr } = inShell(await changedDesk(), script);
      expect([status, stderr]).toEqual([0, '']);
    },
  );
});

it('control characters in file names are escaped in all output', async () => {
  const work = await changedDesk();
  const session = await work.open();
  await ok(session.write('\u001b[31mred', 'x\n'));
  await session.close();
  for (const args of [['status'], ['log'], ['diff'], ['undo', '--dry-run'], ['sessions'], ['undo']])
    expect((await lookfirst(work, args)).stdout).not.toContain('\u001b');
});

it('a state folder that other users can read is made private', async () => {
  const work = await changedDesk();
  chmodSync(work.home, 0o755);
  expect((await lookfirst(work, ['status'])).code).toBe(0);
  expect(statSync(work.home).mode & 0o777).toBe(0o700);
});

describe('a LOOKFIRST_SESSION that is no session id', () => {
  const FAULT = 'LOOKFIRST_SESSION is not a session id: use up to 200 printable characters';
  const IDS = ['a\tb', 'x'.repeat(201)];

  it.each([
    ['serve', '.'],
    ['proxy', '--root', '.', '--', process.execPath, '-e', '0'],
    ['run', '--', 'true'],
    ['status'],
    ['undo'],
  ])('ends %s', async (...args) => {
    const places = scratch();
    for (const id of IDS) {
      const ran = await lookfirst(places, args, { env: { LOOKFIRST_SESSION: id } });
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.stderr).toContain(`lookfirst: ${FAULT} [CONFIG_INVALID]`);
    }
  });

  it('is ignored if a flag names the session', async () => {
    const places = scratch();
    const ran = await lookfirst(places, ['status', '--session', 's'], { env: { LOOKFIRST_SESSION: 'a\tb' } });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('there is no session "s"')]);
  });

  it('denies a hooked change, and nothing else', async () => {
    const places = scratch();
    const event = { session: 's', cwd: places.root, input: { path: 'a.txt', content: 'x' }, call: 'c' };
    for (const id of IDS) {
      const hook = (more: object) => {
        const input = JSON.stringify({ ...event, ...more });
        return lookfirst(places, ['hook', 'generic'], { input, env: { LOOKFIRST_SESSION: id } });
      };
      const denied = await hook({ event: 'before', action: 'write' });
      expect(denied.stdout + denied.stderr).toContain(FAULT);
      expect(denied.stdout + denied.stderr).toContain('refused');
      expect((await hook({ event: 'after', action: 'read', output: 'x' })).code).toBe(0);
    }
  });
});
