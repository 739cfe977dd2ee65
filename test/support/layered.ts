import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { quotedWord } from '../../src/report/bounded.ts';
import { openWorkspace } from '../../src/session/configured.ts';
import { runPrefixedLine } from '../../src/session/prefixed-line.ts';
import { environment } from './command-line.ts';
import type { Scratch } from './tree.ts';

/** A line of Claude Code's shell that has run. */
export interface Layered {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The messages for the model, beside the output of the command. */
  readonly told: string;
}

/** The path of the script that runs Claude Code's shell lines, as `init` would name it. */
export function shellPrefix({ home }: Scratch): string {
  return join(home, 'bin', 'lookfirst-shell');
}

interface LineOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** True if the line may run without a layer; by default it then fails. */
  readonly mayRunPlainly?: true;
}

/**
 * Runs a command as the script at `shellPrefix` does, but in this process: starting Node takes
 * longer than most commands.
 */
export async function runOnLayer(
  places: Scratch,
  command: string,
  session: string,
  { cwd = places.root, env: more = {}, mayRunPlainly }: LineOptions = {},
): Promise<Layered> {
  const env = environment(places, { SHELL: '/bin/sh', CLAUDE_CODE_SESSION_ID: session, ...more });
  const around = { env, cwd, platform: process.platform };
  // Two lines may run at the same time.
  const folder = mkdtempSync(join(places.base, 'line-'));
  const [output, errors] = [join(folder, 'output'), join(folder, 'errors')];
  const line = `eval ${quotedWord(command)} < /dev/null > ${output} 2> ${errors} && pwd -P >| ${join(folder, 'cwd')}`;
  const told: string[] = [];
  const code = await runPrefixedLine({
    line,
    around,
    flags: {},
    runner: {
      open: async (root) => {
        const sessions = await openWorkspace(around, {}, [root]);
        return { sessions, release: () => sessions.close() };
      },
      plainly: () =>
        mayRunPlainly === true
          ? runPlainly(line, { cwd, env })
          : Promise.reject(new Error('the line runs without a layer')),
      tell: (text) => void told.push(`${text}\n`),
    },
  });
  const printed = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  return { code, stdout: printed(output), stderr: printed(errors), told: told.join('') };
}

function runPlainly(line: string, around: { cwd: string; env: NodeJS.ProcessEnv }): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', line], { ...around, stdio: 'ignore' });
    child.on('close', (code) => resolve(code ?? -1));
  });
}
