import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { HostName } from '../../src/config/hook-flags.ts';
import { answerHook } from '../../src/hooks/answer-hook.ts';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import { defined, type JsonRecord } from '../../src/model/record.ts';
import { outputOf } from './hooked.ts';
import { runOnLayer } from './layered.ts';
import type { Scratch } from './tree.ts';

export const REPLAYED = ['claude-code', 'codex', 'gemini', 'cursor', 'vscode', 'opencode'] as const;
export type Replayed = (typeof REPLAYED)[number];

interface ToolUse {
  readonly tool: string;
  readonly input: JsonRecord;
}

/**
 * The tools of one client and the shapes of their results, as in test/fixtures/hooks and in the
 * client's documentation.
 */
interface Tools {
  /** Absent for a client without a read tool, which reads through its shell. */
  readonly read?: (path: string, text: string) => ToolUse & { readonly response: unknown };
  write(path: string, content: string): ToolUse;
  edit(path: string, from: string, to: string): ToolUse;
  shell(command: string): ToolUse;
  printed(output: string): unknown;
}

const patch = (text: string): ToolUse => ({
  tool: 'apply_patch',
  input: { command: `*** Begin Patch\n${text}*** End Patch\n` },
});
const marked = (mark: string, text: string): string =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `${mark}${line}\n`)
    .join('');

const TOOLS: Readonly<Record<Replayed, Tools>> = {
  'claude-code': {
    read: (path, text) => {
      const lines = text.split('\n').length;
      const file = { filePath: path, content: text, numLines: lines, startLine: 1, totalLines: lines };
      return { tool: 'Read', input: { file_path: path }, response: { type: 'text', file } };
    },
    write: (path, content) => ({ tool: 'Write', input: { file_path: path, content } }),
    edit: (path, from, to) => ({
      tool: 'Edit',
      input: { file_path: path, old_string: from, new_string: to },
    }),
    shell: (command) => ({ tool: 'Bash', input: { command } }),
    // Claude Code gives the hook the beginning of a long output, and the model a preview of 2 KB.
    printed: (output) => ({
      stdout: output.slice(0, 30_000),
      stderr: '',
      interrupted: false,
      isImage: false,
      ...(output.length > 30_000 ? { persistedOutputPath: '/home/user/.claude/tool-results/x.txt' } : {}),
    }),
  },
  codex: {
    write: (path, content) => patch(`*** Add File: ${path}\n${marked('+', content)}`),
    edit: (path, from, to) => patch(`*** Update File: ${path}\n@@\n${marked('-', from)}${marked('+', to)}`),
    shell: (command) => ({ tool: 'Bash', input: { command } }),
    printed: (output) => output,
  },
  gemini: {
    read: (path, text) => ({
      tool: 'read_file',
      input: { file_path: path },
      response: { llmContent: text, returnDisplay: '' },
    }),
    write: (path, content) => ({ tool: 'write_file', input: { file_path: path, content } }),
    edit: (path, from, to) => ({
      tool: 'replace',
      input: { file_path: path, instruction: 'x', old_string: from, new_string: to },
    }),
    shell: (command) => ({ tool: 'run_shell_command', input: { command, description: 'x' } }),
    printed: (output) => ({
      llmContent: `<untrusted_context>\nOutput: ${output === '' ? '(empty)' : output}\nProcess Group PGID: 1\n</untrusted_context>`,
      returnDisplay: output,
    }),
  },
  cursor: {
    read: (path, text) => ({ tool: 'Read', input: { path }, response: JSON.stringify({ content: text }) }),
    write: (path, content) => ({ tool: 'Write', input: { path, content } }),
    edit: (path, from, to) => ({
      tool: 'StrReplace',
      input: { path, old_string: from, new_string: to },
    }),
    shell: (command) => ({ tool: 'Shell', input: { command } }),
    printed: (output) => JSON.stringify({ output }),
  },
  vscode: {
    read: (path, text) => ({ tool: 'read_file', input: { filePath: path }, response: text }),
    write: (path, content) => ({ tool: 'create_file', input: { filePath: path, content } }),
    edit: (path, from, to) => ({
      tool: 'replace_string_in_file',
      input: { filePath: path, oldString: from, newString: to },
    }),
    shell: (command) => ({ tool: 'run_in_terminal', input: { command } }),
    printed: (output) => output,
  },
  opencode: {
    read: (path, text) => {
      const lines = text.replace(/\n$/, '').split('\n').length;
      const display = { type: 'file', path, text: text.replace(/\n$/, ''), lineStart: 1, lineEnd: lines };
      return {
        tool: 'read',
        input: { filePath: path },
        response: { output: text, metadata: { display: { ...display, totalLines: lines } } },
      };
    },
    write: (path, content) => ({ tool: 'write', input: { filePath: path, content } }),
    edit: (path, from, to) => ({
      tool: 'edit',
      input: { filePath: path, oldString: from, newString: to },
    }),
    shell: (command) => ({ tool: 'bash', input: { command, description: 'x' } }),
    // `metadata.output` is for the screen: the end of a long output. The model is given `output`.
    printed: (output) => ({
      title: '',
      output,
      metadata: {
        output: output.length > 30_000 ? `...\n\n${output.slice(-30_000)}` : output,
        exit: 0,
        truncated: false,
      },
    }),
  },
};

/** One event of a call, before it is put into the client's format. */
interface CallEvent {
  readonly kind: 'before' | 'after';
  readonly session: string;
  readonly cwd: string;
  readonly mode: 'default' | 'unattended';
  readonly use: ToolUse;
  readonly call: string;
  readonly response: unknown;
}

/** The event of a call that overwrites a file, in the form of one client. `how`: by its write tool or its shell. */
export function overwriteEvent(
  client: Replayed,
  { how, path, content, ...event }: Omit<CallEvent, 'use' | 'mode'> & OverwriteCall,
): JsonRecord {
  const tools = TOOLS[client];
  const write = client === 'codex' ? tools.edit(path, event.before, content) : tools.write(path, content);
  const use = how === 'write' ? write : tools.shell(`printf '${content.replace('\n', '\\n')}' > ${path}`);
  return payloadOf(client, { ...event, mode: 'default', use });
}

interface OverwriteCall {
  readonly how: 'write' | 'shell';
  readonly path: string;
  readonly before: string;
  readonly content: string;
}

function payloadOf(client: HostName, event: CallEvent): JsonRecord {
  const { kind, session, cwd, use, call, response } = event;
  const after = kind === 'after';
  const named = { tool_name: use.tool, tool_input: use.input };
  switch (client) {
    case 'gemini':
      return {
        session_id: session,
        cwd,
        hook_event_name: after ? 'AfterTool' : 'BeforeTool',
        ...named,
        ...(after ? { tool_response: response } : {}),
      };
    case 'cursor':
      return {
        conversation_id: session,
        workspace_roots: [cwd],
        hook_event_name: after ? 'postToolUse' : 'preToolUse',
        ...named,
        tool_use_id: call,
        ...(after ? { tool_output: response } : {}),
      };
    case 'opencode':
      return {
        hook: after ? 'tool.execute.after' : 'tool.execute.before',
        directory: cwd,
        input: { tool: use.tool, sessionID: session, callID: call, ...(after ? { args: use.input } : {}) },
        output: after ? response : { args: use.input },
      };
    default:
      return {
        session_id: session,
        cwd,
        permission_mode: event.mode === 'default' ? 'default' : 'bypassPermissions',
        hook_event_name: after ? 'PostToolUse' : 'PreToolUse',
        ...named,
        tool_use_id: call,
        ...(after ? { tool_response: response } : {}),
      };
  }
}

/** The gate's reply, independent of the client's format. */
export interface Replied {
  readonly denied: boolean;
  readonly text: string;
}

/** A client that calls its built-in tools, with the hooks before and after each call answered in this process. */
export class ReplayedClient {
  session = 'replayed';
  /** The script that CLAUDE_CODE_SHELL_PREFIX names. Shell lines then run on a layer. Default: none. */
  shellPrefix: string | undefined;
  readonly #places: Scratch;
  readonly #client: Replayed;
  readonly #mode: 'default' | 'unattended';
  readonly #door: HookDoor;
  #calls = 0;

  constructor(places: Scratch, client: Replayed, mode: 'default' | 'unattended' = 'default') {
    this.#places = places;
    this.#client = client;
    this.#mode = mode;
    const env = { LOOKFIRST_HOME: places.home };
    this.#door = new HookDoor({ env, platform: process.platform, cwd: places.root }, {});
    onTestFinished(() => this.#door.close());
  }

  /** Shows the model a file, or its first lines. */
  async read(name: string, { lines }: { readonly lines?: number } = {}): Promise<void> {
    const text = readFileSync(join(this.#places.root, name), 'utf8');
    const tools = TOOLS[this.#client];
    if (lines !== undefined) await this.shell(`head -n ${lines} ${name}`);
    else if (tools.read === undefined) await this.shell(`cat ${name}`);
    else {
      const { response, ...use } = tools.read(this.#path(name), text);
      await this.#event('after', { use, call: this.#next(), response });
    }
  }

  write(name: string, content: string): Promise<Replied> {
    const file = join(this.#places.root, name);
    return this.#change(TOOLS[this.#client].write(this.#path(name), content), () => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    });
  }

  edit(name: string, from: string, to: string): Promise<Replied> {
    const file = join(this.#places.root, name);
    return this.#change(TOOLS[this.#client].edit(this.#path(name), from, to), () =>
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(from, () => to),
      ),
    );
  }

  /**
   * The hook events before and after an edit, to be sent one by one, so that a test can mix the
   * events of parallel edits. Between the two events, the test must change the file itself.
   */
  editEvents(
    name: string,
    from: string,
    to: string,
  ): { before(): Promise<Replied>; after(): Promise<Replied> } {
    const use = TOOLS[this.#client].edit(this.#path(name), from, to);
    const call = this.#next();
    return {
      before: () => this.#event('before', { use, call }),
      after: () => this.#event('after', { use, call, response: 'ok' }),
    };
  }

  async shell(command: string): Promise<Replied> {
    const use = TOOLS[this.#client].shell(command);
    const call = this.#next();
    const before = await this.#event('before', { use, call });
    if (before.denied) return before;
    const output = await this.#outputOf(command);
    const response = TOOLS[this.#client].printed(output);
    return this.#event('after', { use, call, response });
  }

  /** Runs a shell line as the client does. */
  async #outputOf(command: string): Promise<string> {
    if (this.shellPrefix === undefined) return outputOf(command, this.#places.root);
    const { stdout, stderr, told } = await runOnLayer(this.#places, command, this.session);
    return stdout + stderr + told;
  }

  /** Reports that the model's context was summarised. */
  async compacted(): Promise<void> {
    const { session } = this;
    const cwd = this.#places.root;
    switch (this.#client) {
      case 'cursor':
        await this.send({ conversation_id: session, workspace_roots: [cwd], hook_event_name: 'preCompact' });
        return;
      case 'opencode': {
        const input = { type: 'session.compacted', properties: { sessionID: session } };
        await this.send({ hook: 'event', directory: cwd, input });
        return;
      }
      default: {
        const name = this.#client === 'vscode' ? 'PreCompact' : 'PostCompact';
        await this.send({ session_id: session, cwd, hook_event_name: name });
      }
    }
  }

  async #change(use: ToolUse, make: () => void): Promise<Replied> {
    const call = this.#next();
    const before = await this.#event('before', { use, call });
    if (before.denied) return before;
    make();
    const after = await this.#event('after', { use, call, response: 'ok' });
    return { ...after, text: before.text + after.text };
  }

  #event(
    kind: 'before' | 'after',
    rest: { readonly use: ToolUse; readonly call: string; readonly response?: unknown },
  ): Promise<Replied> {
    const event = { kind, session: this.session, cwd: this.#places.root, mode: this.#mode, ...rest };
    return this.send(payloadOf(this.#client, { ...event, response: rest.response }));
  }

  /** Sends a payload exactly as the client would. */
  async send(payload: JsonRecord): Promise<Replied> {
    const host = HOOK_HOSTS[this.#client];
    const { shellPrefix } = this;
    const settings = { host, cwd: this.#places.root, roots: [], state: {}, ...defined({ shellPrefix }) };
    const call = { host, text: JSON.stringify(payload), onFailure: 'deny' } as const;
    const answer = await answerHook(call, (event) => this.#door.respond(settings, event));
    if (answer.stderr !== '') throw new Error(answer.stderr);
    return { denied: /"deny"/.test(answer.stdout), text: answer.stdout };
  }

  #path(name: string): string {
    return this.#client === 'codex' ? name : join(this.#places.root, name);
  }

  #next(): string {
    this.#calls += 1;
    return `call-${this.#calls}`;
  }
}
