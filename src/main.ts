import { subscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { debuglog } from 'node:util';
import type { ServerPlan } from './cli/cli.ts';
import { userHome } from './config/home.ts';

/**
 * Picks an entry point and loads only that: the hook, or the command line for everything else. A
 * folder instead of a command means `serve`. Returns the exit code.
 */
export async function main([, program = '', ...args]: readonly string[]): Promise<number> {
  subscribe('lookfirst:waiting', explainWaiting);
  process.on('uncaughtException', (error) => void endWith(error));
  const [word, ...rest] = args;
  if (word === 'hook' && !rest.some((flag) => ['--help', '-h', '--version', '-v'].includes(flag)))
    return hook(program, rest);
  if (!isSomewhere() && !isAboutItself(args)) {
    process.stderr.write(
      'lookfirst: the current folder no longer exists: change to another one [IO_FAILED]\n',
    );
    return 1;
  }
  const isTyped = word === undefined ? isAtTerminal() : word === 'serve' || (await isCommand(word));
  return commandLine(program, isTyped ? args : ['serve', ...args]);
}

/** Ends the process because of an error that no code caught, as Node does, but with one line instead of a stack. */
async function endWith(error: unknown): Promise<never> {
  const { failureText } = await import('./model/fault.ts');
  debuglog('lookfirst')('%o', error);
  process.stderr.write(`lookfirst: ${failureText(error)}\n`);
  process.exit(1);
}

/**
 * Prints why the program waits. First clears the terminal's current line, which may show "working
 * …".
 */
function explainWaiting(sentence: unknown): void {
  const { stderr } = process;
  const isPlain = !stderr.isTTY || process.env['TERM'] === 'dumb';
  stderr.write(`${isPlain ? '' : '\r\x1b[K'}lookfirst: ${String(sentence)}\n`);
}

async function commandLine(program: string, args: readonly string[]): Promise<number> {
  const { runCli } = await import('./cli/run-cli.ts');
  const { env, platform, execPath, stdin, stdout, stderr } = process;
  return runCli({
    args,
    streams: { stdin, stdout, stderr },
    env,
    cwd: isSomewhere() ? process.cwd() : '/',
    platform,
    homeFolder: userHome(),
    self: [execPath, program],
    runServer: (plan) => serve(plan, { input: stdin, output: stdout, signals: process }),
    runProxy: async (plan) => (await import('./proxy/open-proxy.ts')).openProxy(plan),
    runViewer: async (plan) =>
      (await import('./viewer/serve-viewer.ts')).openViewer({ ...plan, signals: process }),
  });
}

/** Serves over stdio, or over HTTP with the viewer beside it. */
export async function serve(
  { http, ...plan }: ServerPlan,
  streams: { readonly input: Readable; readonly output: Writable; readonly signals: EventEmitter },
): Promise<unknown> {
  const { serveHttp, serveStdio } = await import('./mcp/serve.ts');
  if (http === undefined) return serveStdio({ ...plan, ...streams });
  const { whyReadOnly, ...front } = http;
  const { viewerBeside } = await import('./viewer/serve-viewer.ts');
  return serveHttp({
    ...plan,
    ...front,
    signals: streams.signals,
    viewer: async (sessions) => viewerBeside(sessions, { log: plan.log, readOnly: whyReadOnly(sessions) }),
  });
}

/**
 * Answers one hook call. Hosts wait for the answer, so this loads neither the argument parser nor
 * the other commands.
 */
async function hook(program: string, args: readonly string[]): Promise<number> {
  const { runHook } = await import('./hooks/run-hook.ts');
  const { env, platform, execPath, stdin, stdout, stderr } = process;
  return runHook({
    args,
    env,
    // Use `/` if the current folder was deleted. The hook still works: its event names a folder.
    cwd: isSomewhere() ? process.cwd() : '/',
    platform,
    self: [execPath, program],
    uid: process.getuid?.() ?? 0,
    stdin: async () => {
      const parts: Buffer[] = [];
      for await (const part of stdin) parts.push(part);
      return Buffer.concat(parts).toString('utf8');
    },
    print: (text) =>
      new Promise((resolve, reject) => stdout.write(text, (error) => (error ? reject(error) : resolve()))),
    tell: (text) => void stderr.write(`${text}\n`),
  });
}

/**
 * True if the first argument is a command or an unknown word. False if it is a folder to serve, as
 * in `npx lookfirst DIR`. A plain word is a folder only if that folder exists.
 */
async function isCommand(name: string): Promise<boolean> {
  if (ABOUT_ITSELF.includes(name)) return true;
  const { COMMANDS, OLD_SPELLINGS } = await import('./cli/command-list.ts');
  if (COMMANDS.some((command) => command.name === name) || Object.hasOwn(OLD_SPELLINGS, name)) return true;
  if (!/^\w[\w-]*$/.test(name)) return false;
  const { canonicalPath } = await import('./records/scope.ts');
  return canonicalPath(process.cwd(), name).kind === 'missing';
}

const ABOUT_ITSELF = ['help', '--help', '-h', '--version', '-v', '-V'];

/**
 * True if the program only describes itself, which needs no current folder: `version`, or the help
 * of a command.
 */
function isAboutItself([word = '', next = '']: readonly (string | undefined)[]): boolean {
  return word === 'version' || ABOUT_ITSELF.includes(word) || ['--help', '-h'].includes(next);
}

/** True if a user typed the command: clients start the server with pipes. */
function isAtTerminal(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** False if the current folder was removed, so that relative paths have no meaning. */
function isSomewhere(): boolean {
  try {
    return process.cwd() !== '';
  } catch {
    return false;
  }
}
