// Measures the cost of a hook call: with and without the resident (background) process, and around
// a shell command in a large repository.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { hookScript, shellScript } from '../build/cli/clients/hook-scripts.js';
import { interleaved, median } from './measure.mjs';

const FILES = Number(process.env.BENCH_FILES ?? 100_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 30);
const CHANGED = 10;
const project = fileURLToPath(new URL('..', import.meta.url));
const { bin } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
const program = join(project, bin.lookfirst);

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const client = new Client(base, 'home');
  const bare = new Client(base, 'bare');
  try {
    return [...(await callRows(client)), shellRow(client), ...(await commandRows(client, bare))];
  } finally {
    for (const each of [client, bare]) each.end();
    rmSync(base, { recursive: true, force: true });
  }
}

/** A client that calls the hook script of its own state folder, as a coding agent would. */
class Client {
  constructor(base, name) {
    this.base = base;
    this.home = join(base, name);
    this.root = join(base, `${name}-work`);
    this.script = join(this.home, 'bin', 'lookfirst-hook');
    mkdirSync(join(this.home, 'bin'), { recursive: true, mode: 0o700 });
    mkdirSync(this.root);
    const places = { home: this.home, node: process.execPath, program, uid: process.getuid?.() ?? 0 };
    this.shell = join(this.home, 'bin', 'lookfirst-shell');
    writeFileSync(this.script, hookScript(places), { mode: 0o755 });
    writeFileSync(this.shell, shellScript(places), { mode: 0o755 });
    this.calls = 0;
  }

  call(event, { root = this.root, command = 'true', env = {}, call = this.calls } = {}) {
    const payload = {
      session_id: 'bench',
      cwd: root,
      hook_event_name: event,
      tool_name: 'Bash',
      tool_input: { command },
      tool_response: { stdout: '', stderr: '' },
      tool_use_id: `call-${call}`,
    };
    // Pass this process's environment on to the hook, because `node -e 0` below inherits it too.
    // Variables such as NODE_EXTRA_CA_CERTS slow down every start of Node. If only one of the two
    // programs had them, the ratio would be wrong.
    const around = { ...process.env, LOOKFIRST_HOME: this.home, CLAUDE_PROJECT_DIR: root, ...env };
    const args = ['claude-code', '--event', event];
    const ran = spawnSync(this.script, args, { cwd: root, env: around, input: JSON.stringify(payload) });
    if (ran.status !== 0 || String(ran.stdout).includes('deny'))
      throw new Error(`${ran.stdout}${ran.stderr}`);
  }

  pair(root, command) {
    this.calls += 1;
    this.call('PreToolUse', { root, command });
    execFileSync('sh', ['-c', command], { cwd: root });
    this.call('PostToolUse', { root, command });
  }

  async untilResident() {
    this.call('PreToolUse');
    for (let tries = 0; tries < 200 && !this.residents().length; tries += 1) await setTimeout(50);
    await setTimeout(500);
  }

  residents() {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
          const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
          return line.includes('--resident') && environment.includes(`LOOKFIRST_HOME=${this.home}`);
        } catch {
          return false;
        }
      });
  }

  end() {
    for (const pid of this.residents()) process.kill(Number(pid), 'SIGKILL');
  }
}

/** Measures one hook call, compared with a Node process that does nothing. */
async function callRows(client) {
  await client.untilResident();
  const store = { LOOKFIRST_STORE: `sqlite:${join(client.home, 'alone.db')}` };
  const [resident, alone, nothing] = await interleaved(
    [
      () => client.call('SessionStart'),
      () => client.call('SessionStart', { env: store }),
      () => spawnSync(process.execPath, ['-e', '0']),
    ],
    { rounds: ROUNDS, warmup: 3 },
  );
  return [
    { name: 'hook call with the resident / node -e 0', ratio: resident / nothing, bar: 0.2 },
    { name: 'hook call without it / node -e 0', ratio: alone / nothing, bar: 1.3 },
  ];
}

/** Measures a line of Claude Code's shell on a layer: the CPU time of all processes, beyond plain bash. */
function shellRow(client) {
  const line = `eval 'true' < /dev/null && pwd -P >| ${join(client.base, 'cwd')}`;
  const env = {
    ...process.env,
    LOOKFIRST_HOME: client.home,
    SHELL: '/bin/bash',
    CLAUDE_CODE_SESSION_ID: 'bench',
  };
  const spent = (program, args) => {
    const ticks = () => ticksOf('self').slice(2).concat(client.residents().flatMap(ticksOf));
    const before = ticks();
    for (let round = 0; round < ROUNDS; round += 1)
      execFileSync(program, [...args, line], { cwd: client.root, env, stdio: 'pipe' });
    return ticks().reduce((sum, each, at) => sum + each - before[at], 0);
  };
  const over = ((spent(client.shell, []) - spent('/bin/bash', ['-c'])) * 10) / ROUNDS;
  return { name: 'a line of the shell on a layer: ms of CPU over bash', value: Math.round(over), bar: 80 };
}

/** The CPU time of a process, and of the children it has waited for: user and system, in hundredths of a second. */
function ticksOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
}

/**
 * Measures the two hook calls around a command that changes ten of many files. Subtracts the time
 * of the two calls in an empty folder, which take no snapshot.
 */
async function commandRows(client, bare) {
  await bare.untilResident();
  const root = join(client.base, 'large');
  for (let folder = 0; folder * 100 < FILES; folder += 1) {
    mkdirSync(join(root, `d${folder}`), { recursive: true });
    for (let file = 0; file < 100; file += 1)
      writeFileSync(join(root, `d${folder}/f${file}`), `${folder} ${file}\n`);
  }
  // Disable the garbage collection that git starts in the background after such a large commit.
  const who = 'git config user.name a && git config user.email a@b.c && git config gc.auto 0';
  execFileSync('sh', ['-c', `git init -q && ${who} && git add -A && git commit -qm one`], { cwd: root });
  // Take the first snapshot before measuring. It compares all files; later snapshots use a watch on
  // the tree.
  client.pair(root, 'true');
  const names = Array.from({ length: CHANGED }, (_, at) => `d${at}/f${at}`).join(' ');
  const times = { bare: [], large: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [kind, by, folder, command] of [
      ['bare', bare, bare.root, 'true'],
      ['large', client, root, `for f in ${names}; do echo ${round} >> $f; done`],
    ]) {
      by.calls += 1;
      let spent = 0;
      const timed = (work) => {
        const began = process.hrtime.bigint();
        work();
        spent += Number(process.hrtime.bigint() - began) / 1e6;
      };
      timed(() => by.call('PreToolUse', { root: folder, command }));
      execFileSync('sh', ['-c', command], { cwd: folder });
      timed(() => by.call('PostToolUse', { root: folder, command }));
      times[kind].push(spent);
    }
  }
  const over = Math.round(median(times.large) - median(times.bare));
  return [
    { name: `pair around a command, ${FILES} files, 10 changed: ms over a bare pair`, value: over, bar: 100 },
  ];
}
