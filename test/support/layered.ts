import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { quotedWord } from '../../src/report/bounded.ts';
import { openWorkspace } from '../../src/session/configured.ts';
import { runPrefixedLine } from '../../src/session/prefixed-line.ts';
import { environment } from './command-line.ts';
import type { Scratch } from './tree.ts';

/** A line of Claude Code's shell that has run on a layer. */
export interface Layered {
  readonly code: number;
  readonly stdout: string;
  /** The messages for the model, beside the output of the command. */
  readonly told: string;
}

/** The path of the script that runs Claude Code's shell lines, as `init` would name it. */
export function shellPrefix({ home }: Scratch): string {
  return join(home, 'bin', 'lookfirst-shell');
}

/**
 * Runs a command as the script at `shellPrefix` does, but in this process: starting Node takes
 * longer than most commands. Fails if the line runs without a layer.
 */
export async function runOnLayer(places: Scratch, command: string, session: string): Promise<Layered> {
  const env = environment(places, { SHELL: '/bin/sh', CLAUDE_CODE_SESSION_ID: session });
  const around = { env, cwd: places.root, platform: process.platform };
  const output = join(places.base, 'output');
  const told: string[] = [];
  const code = await runPrefixedLine({
    line: `eval ${quotedWord(command)} < /dev/null > ${output} 2>&1 && pwd -P >| ${join(places.base, 'cwd')}`,
    around,
    flags: {},
    runner: {
      open: async (root) => {
        const sessions = await openWorkspace(around, {}, [root]);
        return { sessions, release: () => sessions.close() };
      },
      plainly: () => Promise.reject(new Error('the line runs without a layer')),
      tell: (text) => void told.push(text),
    },
  });
  return { code, stdout: readFileSync(output, 'utf8'), told: told.join('\n') };
}
