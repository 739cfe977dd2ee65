import { execFile } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ScriptPlaces } from '../../src/cli/clients/hook-scripts.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { runHook } from '../../src/hooks/run-hook.ts';
import { ORDINARY, ordinaryNode, ordinaryProject } from './nobody.ts';
import type { Scratch } from './tree.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
  bin: { lookfirst: string };
};

const otherBuild = process.env['LOOKFIRST_DIST'];

/** The built program, as npm installs it. LOOKFIRST_DIST names the `dist` folder of another build. */
export const PROGRAM: readonly string[] = [
  process.execPath,
  otherBuild === undefined
    ? join(project, manifest.bin.lookfirst)
    : join(resolve(otherBuild), 'bin/lookfirst.js'),
];

/** The places in the scripts that `init` would write into a state folder. */
export function scriptPlaces({ home }: Pick<Scratch, 'home'>): ScriptPlaces {
  const [node = '', program = ''] = PROGRAM;
  return { home, node, program: realpathSync(program), uid: process.getuid?.() ?? 0 };
}

/** The built program for `ORDINARY`, who may not be able to enter the folder of `PROGRAM`. */
export function ordinaryProgram(): readonly string[] {
  if (ORDINARY.uid === undefined || otherBuild !== undefined) return PROGRAM;
  return [ordinaryNode(), join(ordinaryProject(), manifest.bin.lookfirst)];
}

/** The result of a command line. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The text on stdin; default: none. */
  readonly input?: string;
  /** The platform that a command in this process is told; default: the real one. */
  readonly platform?: NodeJS.Platform;
}

/** The text for users, without ids, elapsed time and column widths, which differ between runs. */
export function timeless(text: string): string {
  return text
    .replace(/\bc[0-9a-f]{7,10}\b/g, 'ID')
    .replace(/\d+[sm] ago/g, 'just now')
    .replace(/(?<=\S) {2,}(?=\S)/g, '|');
}

/**
 * The current folder of the test run. Each call returns to it. A call cannot read it itself: another
 * call that runs at the same time may have entered another folder.
 */
const START_FOLDER = process.cwd();

/**
 * Runs a command line, by default in the workspace, without the environment of the user who runs
 * the tests. Most commands run in this process, because starting Node takes longer than they do.
 * Commands that start programs run as a process, and so do commands that serve, unless they end
 * before they serve.
 */
export async function lookfirst(
  places: Scratch,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ran> {
  const [word = ''] = args;
  const isAsked = args.some((each) => ['--help', '-h', '--version', '-v'].includes(each));
  const isHook = word === 'hook' && !isAsked;
  // With an empty LOOKFIRST_HOME, a command in this process would use the state folder of the user
  // who runs the tests.
  const hasOwnState = options.env?.['LOOKFIRST_HOME'] !== '';
  const isHere = isHook || IN_PROCESS.has(word) || (isAsked && /^[a-z]/.test(word));
  let serves = false;
  const elsewhere = (): Promise<never> => {
    serves = true;
    return Promise.reject(new Error('runs as a process'));
  };
  if (!hasOwnState || !isHere) return runProgram(places, args, options);
  const { stdin, stdout, stderr } = streams(options.input);
  const shared = {
    env: environment(places, options.env),
    cwd: options.cwd ?? places.root,
    platform: options.platform ?? process.platform,
    self: [process.execPath, PROGRAM[1] ?? ''] as const,
  };
  try {
    const code = isHook
      ? await runHook({
          ...shared,
          args: args.slice(1),
          uid: process.getuid?.() ?? 0,
          stdin: async () => options.input ?? '',
          print: async (text) => void stdout.write(text),
          tell: (text) => void stderr.write(`${text}\n`),
        })
      : await runCli({
          ...shared,
          args,
          streams: { stdin, stdout, stderr },
          homeFolder: shared.env['HOME'] ?? places.base,
          ...{ runServer: elsewhere, runProxy: elsewhere, runViewer: elsewhere },
        });
    if (!serves) return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    // A hook may have made the workspace the current folder of this process. The test removes the
    // workspace at its end.
    process.chdir(START_FOLDER);
  }
  return runProgram(places, args, options);
}

const IN_PROCESS: ReadonlySet<string> = new Set([
  'allow',
  'audit',
  'blame',
  'claims',
  'completion',
  'config',
  'diff',
  'doctor',
  'gc',
  'history',
  'init',
  'log',
  'proxy',
  'remove',
  'report',
  'rewind',
  'serve',
  'sessions',
  'status',
  'undo',
  'version',
  'view',
]);

class Collected extends Writable {
  readonly #parts: Buffer[] = [];

  override _write(part: Buffer, _encoding: string, done: () => void): void {
    this.#parts.push(part);
    done();
  }

  text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}

function streams(input = ''): { stdin: Readable; stdout: Collected; stderr: Collected } {
  return { stdin: Readable.from([input]), stdout: new Collected(), stderr: new Collected() };
}

/** Runs the built program once, as a process. */
function runProgram(places: Scratch, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const [program = '', ...first] = PROGRAM;
  const env = environment(places, options.env);
  return new Promise((resolve) => {
    const limits = { cwd: options.cwd ?? places.root, env, maxBuffer: 64 << 20, timeout: 250_000 };
    const child = execFile(program, [...first, ...args], limits, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end(options.input);
  });
}

/** The environment of a program under test: only what it needs, and its own home folder. */
export function environment(places: Scratch, more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, LOOKFIRST_COMPILE_CACHE } = process.env;
  return { PATH, LOOKFIRST_COMPILE_CACHE, HOME: places.base, LOOKFIRST_HOME: places.home, ...more };
}

/** The objects of an answer with one JSON object per line. */
export function objects(ran: Ran): Record<string, unknown>[] {
  return ran.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
