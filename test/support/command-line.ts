import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scratch } from './tree.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
  bin: { lookfirst: string };
};

/** The built program, as npm installs it. */
export const PROGRAM: readonly string[] = [process.execPath, join(project, manifest.bin.lookfirst)];

/** The result of a command line. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The text for users, without ids, elapsed seconds and column widths, which differ between runs. */
export function timeless(text: string): string {
  return text
    .replace(/\bc[0-9a-f]{10}\b/g, 'ID')
    .replace(/\d+( seconds|s) ago/g, 'just now')
    .replace(/(?<=\S) {2,}(?=\S)/g, '|');
}

/** Runs the built program once, by default in the workspace, without the environment of the user who runs the tests. */
export function lookfirst(places: Scratch, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const [program = '', ...first] = PROGRAM;
  const env = environment(places, options.env);
  return new Promise((resolve) => {
    const limits = { cwd: options.cwd ?? places.root, env, maxBuffer: 64 << 20, timeout: 50_000 };
    const child = execFile(program, [...first, ...args], limits, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}

/** Only what the program needs, and a home folder of its own. */
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
