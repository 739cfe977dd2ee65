import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../..', import.meta.url));
const NOBODY = 65534;

/** The user and group of a process, for `spawn`. Empty: those of this process. */
export interface OrdinaryUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** The user of processes that must not run as root, for `spawn`; empty if the tests do not run as root. */
export const ORDINARY: OrdinaryUser = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Makes the ordinary user the owner of files. Does nothing if the tests do not run as root. */
export function giveAway(...paths: readonly string[]): void {
  const { uid, gid } = ORDINARY;
  if (uid !== undefined && gid !== undefined) for (const path of paths) lchownSync(path, uid, gid);
}

/**
 * Runs a function without root's rights, because root passes every permission check. If the tests do not run as root,
 * just runs it.
 */
export function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  const back = (): void => process.seteuid?.(0);
  let result: T;
  try {
    result = work();
  } catch (error) {
    back();
    throw error;
  }
  if (result instanceof Promise) void result.then(back, back);
  else back();
  return result;
}

/**
 * The folder that holds the program (`dist`) and its packages for the ordinary user: the project, or a copy of that
 * part if only root may enter the project. The copy is made once per test run.
 */
export function ordinaryProject(): string {
  if (ORDINARY.uid === undefined || may('-r', join(project, 'package.json'))) return project;
  const folder = join(runFolder(), 'installed');
  return existsSync(folder) ? folder : install(folder);
}

/** Node for the ordinary user: this one, or a copy if the ordinary user cannot run it. */
export function ordinaryNode(): string {
  if (ORDINARY.uid === undefined || may('-x', process.execPath)) return process.execPath;
  return copied(process.execPath, join(runFolder(), 'node'));
}

/** A module that the ordinary user may read. It finds the packages that the program uses. */
export function ordinaryModule(module: string): string {
  const folder = ordinaryProject();
  return folder === project ? module : copied(module, join(folder, basename(module)));
}

/** The folder of a ripgrep that the ordinary user may run. */
export function ordinaryRipgrep(): string {
  return join(ordinaryProject(), `node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin`);
}

/** True if the ordinary user may read (`-r`) or run (`-x`) a file. */
function may(what: '-r' | '-x', file: string): boolean {
  return spawnSync('test', [what, file], { ...ORDINARY, cwd: '/' }).status === 0;
}

/** Copies the program and its packages. Several processes may do so at once; the first one wins. */
function install(folder: string): string {
  const own = mkdtempSync(join(runFolder(), 'installing-'));
  for (const path of ['package.json', 'dist', ...usedPackages()].filter((one) =>
    existsSync(join(project, one)),
  )) {
    mkdirSync(dirname(join(own, path)), { recursive: true });
    execFileSync('cp', ['-R', join(project, path), join(own, path)]);
  }
  execFileSync('chmod', ['-R', 'a+rX', own]);
  try {
    renameSync(own, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** The packages that the program uses, as paths below the project. Packages inside others are copied with them. */
function usedPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([path, { dev }]) => dev !== true && /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path))
    .map(([path]) => path);
}

/** Copies a file that the ordinary user may read and run, unless another process of the test run has done so. */
function copied(file: string, target: string): string {
  if (existsSync(target)) return target;
  const own = `${target}-${process.pid}`;
  copyFileSync(file, own);
  chmodSync(own, 0o755);
  renameSync(own, target);
  return target;
}

function runFolder(): string {
  const folder = process.env['TEST_DISK'];
  if (folder === undefined) throw new Error('test/support/test-run.ts sets TEST_DISK');
  return folder;
}
