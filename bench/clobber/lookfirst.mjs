// What the guards of Lookfirst share: its hooks and its command line, in this process.
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../build/cli/run-cli.js';
import { loadNative } from '../../build/disk/context.js';
import { answerHook } from '../../build/hooks/answer-hook.js';
import { HookDoor } from '../../build/hooks/hook-door.js';
import { HOOK_HOSTS } from '../../build/hooks/hosts/hook-hosts.js';
import { removeLayer } from '../../build/process/layer.js';
import { Processes } from '../../build/process/processes.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const { bin } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
export const PROGRAM = [process.execPath, join(project, bin.lookfirst)];

export const environment = ({ env, state }) => ({ ...env, LOOKFIRST_HOME: state });

/** Lookfirst's hooks in a world: they answer events as the resident process does. */
export class Hooks {
  #world;
  #door;
  #shell;
  #calls = 0;

  /** `shell`: the script that runs the agent's commands on a layer. */
  constructor(world, shell) {
    this.#world = world;
    this.#shell = shell;
    this.#door = new HookDoor({ env: environment(world), platform: process.platform, cwd: world.root }, {});
  }

  /** Sends an event in the generic form. Returns what the agent's program obeys. */
  async send(event) {
    const host = HOOK_HOSTS.generic;
    const settings = { host, cwd: this.#world.root, roots: [], state: {}, shellPrefix: this.#shell };
    const text = JSON.stringify({ cwd: this.#world.root, turn: 't1', ...event });
    const answer = await answerHook({ host, text, onFailure: 'deny' }, (neutral) =>
      this.#door.respond(settings, neutral),
    );
    if (answer.stdout === '') return { refused: answer.code === 2, text: answer.stderr };
    const { verdict, reason = '', context = '' } = JSON.parse(answer.stdout);
    return { refused: verdict === 'deny', text: `${reason}\n${context}` };
  }

  /** A call of one of the agent's tools: the event before it, the tool, the event after it. */
  async call(event, tool) {
    this.#calls += 1;
    const call = `call-${this.#calls}`;
    const before = await this.send({ ...event, event: 'before', call });
    if (before.refused) return before;
    const output = await tool();
    const after = await this.send({ ...event, event: 'after', call, output });
    return { refused: false, text: `${before.text}\n${after.text}` };
  }

  read({ session, path }) {
    const output = readFileSync(join(this.#world.root, path), 'utf8');
    return this.call({ session, action: 'read', input: { path } }, () => output);
  }

  /** A write with the agent's tool. The agent first reads a file that exists. */
  async write({ session, path, text, make }) {
    try {
      await this.read({ session, path });
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    const input = { path, content: text };
    const answer = await this.call({ session, action: 'write', input }, () => make());
    if (answer.refused) throw new Error(answer.text);
  }

  /** A call of the agent's shell on a layer. */
  shellCall({ session, command }) {
    let said = '';
    const line = `eval ${quoted(command)} < /dev/null && pwd -P >| ${quoted(join(this.#world.scratch, 'cwd'))}`;
    const more = { ...environment(this.#world), SHELL: '/bin/bash', CLAUDE_CODE_SESSION_ID: session };
    const tool = async () => {
      const ended = await this.#world.start(this.#shell, [line], more);
      said = ended.stderr;
      return ended.output;
    };
    return this.call({ session, action: 'run', input: { command } }, tool).then(({ refused, text }) => ({
      refused: refused || /\[COMMAND_CONFLICT\]/.test(said),
      text: `${said}\n${text}`,
    }));
  }

  close() {
    return this.#door.close();
  }
}

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** The reason why this machine runs no command on a layer, if there is one. */
export async function withoutSandbox() {
  const home = mkdtempSync(join(tmpdir(), 'clobber-probe-'));
  try {
    const probe = await new Processes({ home, env: process.env, attributes: loadNative() }).probe();
    return probe.ok ? undefined : probe.missing;
  } finally {
    removeLayer({ folder: home });
  }
}

/** Runs a command line of Lookfirst in this process, as the user. */
async function lookfirst(world, ...args) {
  const out = collected();
  const code = await runCli({
    args,
    env: environment(world),
    cwd: existsSync(world.root) ? world.root : world.base,
    platform: process.platform,
    self: PROGRAM,
    streams: { stdin: Readable.from(['']), ...out },
    homeFolder: world.user,
  });
  return { code, stdout: out.stdout.text(), stderr: out.stderr.text() };
}

function collected() {
  const one = () => {
    const parts = [];
    const stream = new Writable({ write: (part, _encoding, done) => done(void parts.push(part)) });
    return Object.assign(stream, { text: () => Buffer.concat(parts).toString() });
  };
  return { stdout: one(), stderr: one() };
}

/** Notes the changes there are now. The result takes back those that came since, newest first. */
export async function undoing(world) {
  const ids = async () => {
    const { stdout } = await lookfirst(world, 'log', '--kind', 'change', '--all', '--json');
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  const known = new Set((await ids()).map(({ change }) => change));
  return async () => {
    const made = (await ids()).filter(({ change }) => !known.has(change));
    const said = [];
    for (const { change } of made.sort((a, b) => b.at.localeCompare(a.at))) {
      const { code, stdout, stderr } = await lookfirst(world, 'undo', change, '--yes');
      said.push(`${change} ${code} ${stdout}${stderr}`);
    }
    return said.join('\n');
  };
}
