/**
 * The plugin for opencode: `"plugin": ["file:///STATE/bin/lookfirst-opencode.js"]`. `lookfirst init
 * opencode --hooks` copies this file into the state folder, next to the script that it calls. So
 * this file must import nothing but Node's own modules.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The part of opencode's plugin input that is used here. */
export interface PluginInput {
  readonly directory: string;
}

interface ToolInput {
  readonly tool: string;
  readonly sessionID: string;
  readonly callID: string;
  readonly args?: unknown;
}

/** The functions that opencode calls. */
export interface PluginHooks {
  'tool.execute.before'(input: ToolInput, output: { args: unknown }): Promise<void>;
  'tool.execute.after'(input: ToolInput, output: { output: string; metadata?: unknown }): Promise<void>;
  'chat.message'(input: unknown, output: unknown): Promise<void>;
  event(input: { readonly event: SessionEvent }): Promise<void>;
}

/** The part of opencode's events that is used here. */
interface SessionEvent {
  readonly type: string;
  readonly properties?: {
    readonly sessionID?: string;
    readonly info?: { readonly revert?: { readonly messageID?: string } };
  };
}

interface Answer {
  readonly deny?: string;
  readonly context?: string;
}

/**
 * The plugin. It denies a call by throwing the reason, which the model reads verbatim. If Lookfirst
 * fails, the plugin denies every call except those of `HARMLESS` tools.
 */
export async function LookfirstPlugin({ directory }: PluginInput): Promise<PluginHooks> {
  const ask = (hook: string, input: unknown, output: unknown) =>
    callHook(directory, { hook, directory, input, output });
  /** For each reverted session, the first message that the revert removed. */
  const reverted = new Map<string | undefined, string>();
  /**
   * Resolves when the gate has handled all events so far. opencode does not wait for its events to
   * be handled, so the next tool call waits for this promise.
   */
  let events: Promise<unknown> = Promise.resolve();
  return {
    async 'tool.execute.before'(input, output) {
      await events;
      const { deny } = await ask('tool.execute.before', input, output);
      if (deny !== undefined) throw new Error(deny);
    },
    async 'tool.execute.after'(input, output) {
      const { context } = await ask('tool.execute.after', input, output);
      if (context !== undefined) output.output = `${output.output}\n\n${context}`;
    },
    async 'chat.message'(input, output) {
      await ask('chat.message', input, output);
    },
    async event({ event }) {
      // Pass on only compactions and new reverts: the other events are frequent, and the gate
      // ignores them.
      if (event.type !== 'session.compacted' && !isNewRevert(event, reverted)) return;
      events = Promise.all([events, ask('event', event, undefined)]);
      await events;
    },
  };
}

/**
 * True if the event reports a revert that no earlier event of the session has reported. Later
 * events repeat a revert until the next prompt.
 */
function isNewRevert({ type, properties }: SessionEvent, reverted: Map<string | undefined, string>): boolean {
  if (type !== 'session.updated') return false;
  const session = properties?.sessionID;
  const message = properties?.info?.revert?.messageID;
  const known = reverted.get(session);
  if (message === undefined) reverted.delete(session);
  else reverted.set(session, message);
  return message !== undefined && message !== known;
}

/** opencode's own tools that change no file. A failure of Lookfirst does not stop them. */
const HARMLESS = ['read', 'grep', 'glob', 'list', 'task', 'todowrite', 'todoread', 'webfetch', 'skill'];

function isHarmless(input: unknown): boolean {
  return HARMLESS.includes((input as ToolInput).tool);
}

/** Runs the hook script next to this file, or, if there is none, the command of the package. */
function callHook(
  cwd: string,
  event: { readonly hook: string; readonly [field: string]: unknown },
): Promise<Answer> {
  const here = dirname(fileURLToPath(import.meta.url));
  const script = join(here, 'lookfirst-hook');
  const flags = ['opencode', '--event', event.hook];
  const [command, ...args] = existsSync(script)
    ? [script, ...flags]
    : ['node', join(here, 'bin', 'lookfirst.js'), 'hook', ...flags];
  const precedesChange = event.hook === 'tool.execute.before' && !isHarmless(event['input']);
  return new Promise((resolve) => {
    const denied = (deny: string) => resolve(precedesChange ? { deny } : {});
    const unanswered = (reason: string) =>
      denied(
        `Lookfirst did not answer (${reason}), so this call is refused. Ask the user to run \`lookfirst doctor\`.`,
      );
    const child = spawn(command ?? '', args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => out.push(part));
    child.stderr.on('data', (part: Buffer) => err.push(part));
    child.on('error', (error) => unanswered(error.message));
    child.stdin.on('error', () => undefined);
    child.on('close', (code) => {
      if (code === 2) return denied(Buffer.concat(err).toString('utf8').trim());
      if (code !== 0) return unanswered(`exit ${code}`);
      const text = Buffer.concat(out).toString('utf8').trim();
      try {
        resolve(text === '' ? {} : JSON.parse(text));
      } catch {
        unanswered('its answer is not JSON');
      }
    });
    child.stdin.end(JSON.stringify(event));
  });
}
