import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { environment } from './command-line.ts';
import type { ScriptedModel, ToolUse } from './scripted-model.ts';
import { toolIn } from './tools.mjs';
import type { Scratch } from './tree.ts';

/**
 * The folders of one run of a program, and the URL of its scripted model. The folder `outside` is
 * the user's home folder.
 */
interface Stage extends Scratch {
  readonly url: string;
}

interface Start {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Texts of files in the user's home folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * A real agent program: the calls with which its model uses the program's tools, and the command
 * that starts the program with one prompt.
 */
export interface AgentProgram {
  /** The program's name in `lookfirst init`. */
  readonly name: string;
  /** The executable in `node_modules`. */
  readonly bin: string;
  read(path: string): ToolUse;
  /** The call that replaces one line of a file. */
  edit(path: string, from: string, to: string): ToolUse;
  run(command: string): ToolUse;
  start(stage: Stage): Start;
}

/**
 * This machine's platform, as package names contain it. Some programs have a package with an
 * executable for each platform. An install script would link the executable into `.bin`, but the
 * tests run no install scripts.
 */
const PLATFORM = `${process.platform}-${process.arch}`;

const claudeCode: AgentProgram = {
  name: 'claude-code',
  bin: `@anthropic-ai/claude-code-${PLATFORM}/claude`,
  read: (path) => ({ tool: 'Read', args: { file_path: path } }),
  edit: (path, from, to) => ({ tool: 'Edit', args: { file_path: path, old_string: from, new_string: to } }),
  run: (command) => ({ tool: 'Bash', args: { command, description: 'a command' } }),
  start: ({ url }) => ({
    args: ['-p', 'go', '--allowedTools', 'Read,Edit,Bash'],
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'key', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  }),
};

const codex: AgentProgram = {
  name: 'codex',
  bin: '.bin/codex',
  read: (path) => codex.run(`cat '${path}'`),
  edit: (path, from, to) => ({
    tool: 'apply_patch',
    args: `*** Begin Patch\n*** Update File: ${path}\n@@\n-${from}\n+${to}\n*** End Patch\n`,
  }),
  run: (command) => ({ tool: 'exec_command', args: { cmd: command } }),
  start: ({ url }) => {
    const provider = `{name="scripted",base_url="${url}/v1",wire_api="responses"}`;
    const settings = ['model="gpt-5.5"', 'model_provider="scripted"', `model_providers.scripted=${provider}`];
    const trust = ['--dangerously-bypass-approvals-and-sandbox', '--dangerously-bypass-hook-trust'];
    return { args: ['exec', ...trust, ...settings.flatMap((each) => ['-c', each]), 'go'] };
  },
};

const gemini: AgentProgram = {
  name: 'gemini',
  bin: '.bin/gemini',
  read: (path) => ({ tool: 'read_file', args: { file_path: path } }),
  edit: (path, from, to) => ({
    tool: 'replace',
    args: { file_path: path, instruction: 'replace a line', old_string: from, new_string: to },
  }),
  run: (command) => ({ tool: 'run_shell_command', args: { command } }),
  start: ({ url, root }) => ({
    args: ['-y', '-p', 'go'],
    env: { GEMINI_API_KEY: 'key', GOOGLE_GEMINI_BASE_URL: url },
    files: {
      '.gemini/settings.json': '{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
      '.gemini/trustedFolders.json': JSON.stringify({ [root]: 'TRUST_FOLDER' }),
    },
  }),
};

const opencode: AgentProgram = {
  name: 'opencode',
  bin: `opencode-${PLATFORM}/bin/opencode`,
  read: (path) => ({ tool: 'read', args: { filePath: path } }),
  edit: (path, from, to) => ({ tool: 'edit', args: { filePath: path, oldString: from, newString: to } }),
  run: (command) => ({ tool: 'bash', args: { command, description: 'a command' } }),
  start: ({ url, outside }) => {
    const options = { baseURL: `${url}/v1`, apiKey: 'key' };
    const scripted = { npm: '@ai-sdk/openai-compatible', options, models: { m: {} } };
    const settings = { provider: { scripted }, model: 'scripted/m', small_model: 'scripted/m' };
    return {
      args: ['run', 'go'],
      env: { OPENCODE_CONFIG: join(outside, 'opencode.json') },
      files: { 'opencode.json': JSON.stringify(settings) },
    };
  },
};

export const AGENT_PROGRAMS: readonly AgentProgram[] = [claudeCode, codex, gemini, opencode];

/** Maximum duration of one run of a program. */
const LIMIT_MS = 300_000;

/** Runs a program in the workspace with one prompt, until its model says "done". Returns what it printed. */
export async function runProgram(
  program: AgentProgram,
  places: Scratch,
  model: ScriptedModel,
): Promise<string> {
  const { args, env, files = {} } = program.start({ ...places, url: model.url });
  for (const [name, text] of Object.entries(files)) {
    const path = join(places.outside, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const options = {
    cwd: places.root,
    env: environment(places, { ...env, HOME: places.outside }),
    timeout: LIMIT_MS,
  };
  const bin = await toolIn('clients', program.bin);
  return new Promise((resolve) => {
    const child = execFile(bin, args, options, (_error, stdout, stderr) => resolve(`${stdout}${stderr}`));
    child.stdin?.end();
  });
}
