import { homedir } from 'node:os';
import { Fault } from '../model/fault.ts';

/** Facts about the platform and its user. */
export interface Surroundings {
  /** The value of `process.platform`. */
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home folder, if the platform knows it. */
  readonly homeFolder?: string | undefined;
}

/**
 * The path of Lookfirst's state folder: `LOOKFIRST_HOME`, else the platform's folder for state.
 * Does not create or check the folder. Throws a Fault for a relative `LOOKFIRST_HOME`, which would
 * mean a different folder in every working directory.
 */
export function stateFolder(surroundings: Surroundings): string {
  const { env, platform } = surroundings;
  const chosen = env['LOOKFIRST_HOME'];
  if (chosen !== undefined && chosen !== '') {
    if (isAbsolute(chosen, platform)) return chosen;
    throw new Fault('CONFIG_INVALID', `LOOKFIRST_HOME must be an absolute path, not "${chosen}"`);
  }
  if (platform === 'win32') return windowsFolder(surroundings);
  if (platform === 'darwin') return join(homeOf(surroundings), 'Library', 'Application Support', 'lookfirst');
  const state = env['XDG_STATE_HOME'];
  // The XDG specification says to ignore a relative path.
  if (state?.startsWith('/') === true) return join(state, 'lookfirst');
  return join(homeOf(surroundings), '.local', 'state', 'lookfirst');
}

/** The path of the policy file: in the state folder, which the agent's tools cannot reach. */
export function policyFilePath(folder: string, platform: string): string {
  return platform === 'win32' ? joinWindows(folder, 'lookfirst.json') : join(folder, 'lookfirst.json');
}

/**
 * The home folder of this process's user; undefined if the machine does not know one, as for a user
 * id without an account.
 */
export function userHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/** The home folder, for a command that needs one. Throws a Fault if it is not known. */
export function requiredHome(homeFolder: string | undefined): string {
  if (homeFolder !== undefined) return homeFolder;
  throw new Fault('CONFIG_INVALID', 'no home folder is known: set HOME to an absolute path');
}

/**
 * Replaces a leading `~` with the home folder. A shell would do that, but clients start servers
 * without one. Throws a Fault if no home folder is known.
 */
export function expandHome(path: string, homeFolder: string | undefined): string {
  return path === '~' || path.startsWith('~/') ? requiredHome(homeFolder) + path.slice(1) : path;
}

function windowsFolder(surroundings: Surroundings): string {
  const local = surroundings.env['LOCALAPPDATA'];
  if (local !== undefined && isAbsolute(local, 'win32')) return joinWindows(local, 'lookfirst');
  return joinWindows(homeOf(surroundings), 'AppData', 'Local', 'lookfirst');
}

function homeOf({ env, homeFolder, platform }: Surroundings): string {
  const variable = platform === 'win32' ? 'USERPROFILE' : 'HOME';
  for (const home of [env[variable], homeFolder])
    if (home !== undefined && isAbsolute(home, platform)) return home;
  throw new Fault('CONFIG_INVALID', 'no home folder is known: set LOOKFIRST_HOME to an absolute path');
}

function isAbsolute(path: string, platform: string): boolean {
  return platform === 'win32' ? /^([A-Za-z]:[\\/]|\\\\[^\\])/.test(path) : path.startsWith('/');
}

function join(folder: string, ...names: readonly string[]): string {
  return [folder === '/' ? '' : folder.replace(/\/+$/, ''), ...names].join('/');
}

function joinWindows(folder: string, ...names: readonly string[]): string {
  return [folder.replace(/[\\/]+$/, ''), ...names].join('\\');
}
