import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lookfirstSandbox } from '../../src/adapters/ai-sandbox.ts';
import type { HostName } from '../../src/config/hook-flags.ts';
import { answerHook } from '../../src/hooks/answer-hook.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openDoor, outputOf } from '../support/hooked.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const here = await sandboxHere();

/** Runs a line as an agent. Returns what the agent is shown: the refusal, or the output. */
type Runs = (line: string) => Promise<string>;

async function openSession({ root, home }: Scratch): Promise<GatedSession> {
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  return sessions.session('agent');
}

const FIXTURES = new URL('../fixtures/hooks/', import.meta.url).pathname;

/** Sends a client's own event before a shell command, and runs the line if the client would. */
function hooksOf(client: HostName, capture: string) {
  return (places: Scratch): Runs => {
    const door = openDoor(places);
    const host = HOOK_HOSTS[client];
    const settings = { host, cwd: places.root, roots: [], state: {} };
    const captured = readFileSync(join(FIXTURES, client, capture), 'utf8');
    let calls = 0;
    return async (line) => {
      calls += 1;
      const text = captured
        .replace(/"command": ".*?"/, () => `"command": ${JSON.stringify(line)}`)
        .replace(/"cwd": ".*?"/, () => `"cwd": ${JSON.stringify(places.root)}`)
        .replace(/("(?:tool_use_id|callID)": )".*?"/, (_, name: string) => `${name}"call-${calls}"`);
      const args = client === 'opencode' ? { hook: 'tool.execute.before', directory: places.root } : {};
      const call = {
        host,
        text: JSON.stringify({ ...args, ...JSON.parse(text) }),
        onFailure: 'deny',
      } as const;
      const { stdout } = await answerHook(call, (event) => door.respond(settings, event));
      return /deny/.test(stdout) ? stdout : outputOf(line, places.root);
    };
  };
}

const DOORS: readonly [name: string, (places: Scratch) => Runs | Promise<Runs>, isHere: boolean][] = [
  ['hooks of Claude Code', hooksOf('claude-code', 'PreToolUse-Bash.json'), true],
  ['hooks of Codex', hooksOf('codex', 'PreToolUse-Bash.json'), true],
  ['hooks of Gemini CLI', hooksOf('gemini', 'BeforeTool-run_shell_command.json'), true],
  ['the plugin for opencode', hooksOf('opencode', 'tool.execute.before-bash.json'), true],
  [
    'session.run',
    async (places) => {
      const session = await openSession(places);
      return async (line) => JSON.stringify(await session.run(line));
    },
    here !== undefined,
  ],
  [
    'run_command',
    async (places) => {
      const served = await Served.here(places, ['--allow-commands']);
      return async (command) => (await served.call('run_command', { command })).text;
    },
    here !== undefined,
  ],
  [
    'lookfirstSandbox around a sandbox',
    async (places) => {
      const run = async ({ command }: { command: string }) => {
        return { exitCode: 0, stdout: await outputOf(command, places.root), stderr: '' };
      };
      const spawn = () => Promise.reject(new Error('not used'));
      const sandbox = lookfirstSandbox(await openSession(places), { run, spawn });
      return async (command) => sandbox.run({ command }).then(({ stdout }) => stdout, String);
    },
    true,
  ],
];

describe.each(DOORS)('%s', (_name, open, isHere) => {
  it.skipIf(!isHere)('refuses a destroying line once, and no harmless one', async () => {
    const places = scratch();
    const user = (text: string) => execFileSync('sh', ['-ec', text], { cwd: places.root, stdio: 'pipe' });
    const text = () => readFileSync(join(places.root, 'a.txt'), 'utf8');
    user(
      'git init -q -b main; echo one > a.txt; git add .; git -c user.name=a -c user.email=a@b commit -qm one',
    );
    const run = await open(places);
    expect(await run('git checkout -q .')).not.toContain('WOULD_DESTROY');
    user('echo mine >> a.txt');
    expect(await run('git reset -q --hard')).toMatch(/WOULD_DESTROY[\s\S]*a\.txt/);
    expect(text()).toBe('one\nmine\n');
    expect(await run('git reset -q --hard')).not.toContain('WOULD_DESTROY');
    expect(text()).toBe('one\n');
  });
});
