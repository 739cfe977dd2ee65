import { spawn } from 'node:child_process';

/** The reason why git could not be used. */
export interface Unavailable {
  readonly unavailable: string;
}

/** The output of git, or the first line of its error. */
type GitResult =
  | { readonly ok: true; readonly stdout: Buffer }
  | { readonly ok: false; readonly reason: string };

export interface GitOptions {
  readonly signal: AbortSignal;
  readonly index?: string;
  /** A repository to use instead of the one around the folder. */
  readonly repository?: string | undefined;
  readonly input?: string;
}

/** Settings that keep git from running any program of the user. */
const QUIET = [
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.untrackedCache=false',
];

/** Runs git in a folder, without any program that the configuration of the user or the repository names. */
export async function git(root: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const filters = options.index === undefined ? [] : await withoutFilters(root, options.signal);
  return runGit(root, [...QUIET, ...filters, ...args], options);
}

/**
 * Git options that turn off the clean filters in the user's configuration. Otherwise git would run
 * these programs to compare the content of files with uncertain stat fields.
 */
async function withoutFilters(root: string, signal: AbortSignal): Promise<string[]> {
  const names = ['config', '--name-only', '--get-regexp', '^filter\\..*\\.(clean|process|required)$'];
  const result = await runGit(root, names, { signal });
  if (!result.ok) return [];
  const keys = result.stdout
    .toString('utf8')
    .split('\n')
    .filter((key) => key !== '');
  return keys.flatMap((key) => ['-c', key.endsWith('.required') ? `${key}=false` : `${key}=`]);
}

/** Runs git in a folder with exactly these arguments. */
export function runGit(root: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { signal, index, repository, input } = options;
  const env = {
    ...process.env,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
    ...(repository === undefined ? {} : { GIT_DIR: repository, GIT_WORK_TREE: root }),
  };
  return new Promise((resolve) => {
    const child = spawn('git', args, { cwd: root, env, signal, stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    // Without free file descriptors, the child has no pipes.
    child.stdout?.on('data', (part: Buffer) => out.push(part));
    child.stderr?.on('data', (part: Buffer) => err.push(part));
    child.on('error', (error: NodeJS.ErrnoException) => resolve({ ok: false, reason: reasonOf(error) }));
    child.on('close', (code) => {
      const [reason = ''] = Buffer.concat(err).toString('utf8').split('\n', 1);
      if (code === 0) resolve({ ok: true, stdout: Buffer.concat(out) });
      else resolve({ ok: false, reason: reason === '' ? `git ended with ${code}` : reason });
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.name === 'AbortError') return 'the time limit was reached';
  return error.code === 'ENOENT' ? 'git is not installed' : error.message;
}
