import { join, resolve } from 'node:path';
import { policyFilePath, stateFolder, userHome } from '../config/home.ts';
import { type PolicySources, parsePolicyFile, resolvePolicy } from '../config/resolve-policy.ts';
import type { Origin, Setting } from '../config/settings.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { HIDDEN_STATE_VARIABLE } from '../model/path.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import { defined } from '../model/record.ts';
import { invalidSessionText, isSessionId } from '../model/session-record.ts';
import { folderIdentity, readPolicyText, requireHomeFolder } from '../store/prepare-home.ts';
import { withoutPassword } from '../store/state.ts';
import type { WorldOptions } from './open-world.ts';
import type { Sessions } from './sessions.ts';

/** Command-line flags that determine where Lookfirst stores its data, and the policy. */
export interface StateFlags {
  readonly store?: string;
  readonly workspace?: string;
  readonly sharedWorkspace?: boolean;
  readonly preset?: PresetName;
  /** A policy file. Default: `lookfirst.json` in the state folder. */
  readonly policy?: string;
  readonly readOnly?: boolean;
}

/** The state folder and the store: where Lookfirst keeps its data. */
export interface Places {
  readonly home: string;
  readonly store: string;
  /** The name of the workspace in a fleet of machines. */
  readonly workspace?: string;
  /** True if other machines write to the roots. */
  readonly sharedWorkspace?: boolean;
}

/** The properties of a process's environment that determine where Lookfirst keeps its data. */
export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly cwd: string;
  /** The user's home folder; default: that of this process. */
  readonly homeFolder?: string | undefined;
}

/** The state folder and the store. Flags override the environment, which overrides the platform's default. */
export function placesOf(around: ConfigSources, flags: StateFlags): Places {
  const { env, platform, homeFolder = userHome() } = around;
  const home = stateFolder({ platform, env, homeFolder });
  requireHomeFolder(home);
  const workspace = flags.workspace || env['LOOKFIRST_WORKSPACE'];
  const isShared = flags.sharedWorkspace ?? env['LOOKFIRST_SHARED_WORKSPACE'] === '1';
  return {
    home,
    store: flags.store || env['LOOKFIRST_STORE'] || `sqlite:${join(home, 'lookfirst.db')}`,
    ...(workspace ? { workspace } : {}),
    ...(isShared ? { sharedWorkspace: true } : {}),
  };
}

/**
 * The session that `LOOKFIRST_SESSION` names; undefined if the variable is unset or empty. Throws
 * CONFIG_INVALID if the value is no session id. A fallback to another session would be wrong,
 * because the reads of that session would count.
 */
export function sessionVariable({ env }: Pick<ConfigSources, 'env'>): string | undefined {
  const id = env['LOOKFIRST_SESSION'] || undefined;
  if (id !== undefined && !isSessionId(id))
    throw new Fault('CONFIG_INVALID', invalidSessionText('LOOKFIRST_SESSION'));
  return id;
}

/**
 * The state folder and the store, for a command that reads them. `folders`: the folders given by
 * flags, or else the current one. Throws STORE_FAILED if the state folder is hidden, because an
 * empty answer would be wrong.
 */
export function recordsPlaceOf(
  around: ConfigSources,
  flags: StateFlags & { readonly root?: readonly string[] },
): Places & { readonly folders: readonly string[] } {
  const { root = [] } = flags;
  const folders = (root.length === 0 ? ['.'] : root).map((folder) => resolve(around.cwd, folder));
  const places = placesOf(around, flags);
  if (isHidden(around, places)) throw new Fault('STORE_FAILED', HIDDEN, { reason: 'hidden' });
  return { ...places, folders };
}

const HIDDEN =
  'the state folder is hidden from this command, because the command runs on a layer of Lookfirst. Use the tools undo_change and ' +
  "file_status of Lookfirst's MCP server, or ask the user to run this command in a terminal";

/**
 * True if Lookfirst runs this process as a command on a layer and hides the state folder from it.
 * Without a variable that names another state folder, the folder is hidden too: a confined command
 * does not get these variables.
 */
function isHidden({ env }: ConfigSources, { home, store }: Places): boolean {
  const hidden = env[HIDDEN_STATE_VARIABLE];
  if (hidden === undefined || store !== `sqlite:${join(home, 'lookfirst.db')}`) return false;
  return home === hidden || !(env['LOOKFIRST_HOME'] || env['XDG_STATE_HOME']);
}

/** The policy file that a flag names; undefined without the flag. */
export function policyFileOf({ cwd }: ConfigSources, { policy }: StateFlags): string | undefined {
  return policy === undefined ? undefined : resolve(cwd, policy);
}

/** The path of the policy file: the one that a flag names, else the one in the state folder. */
function policyPathOf(around: ConfigSources, flags: StateFlags): string {
  return policyFileOf(around, flags) ?? policyFilePath(placesOf(around, flags).home, around.platform);
}

/** The text of the policy file in force, if there is one. A file named by a flag must exist. */
export function policyTextOf(around: ConfigSources, flags: StateFlags): string | undefined {
  const path = policyPathOf(around, flags);
  const text = readPolicyText(path);
  if (text === undefined && flags.policy !== undefined)
    throw new Fault('CONFIG_INVALID', `there is no policy file ${path}; create it, or leave out --policy`, {
      path,
    });
  return text;
}

/** The complete policy from flags and file. */
export function policyOf(around: ConfigSources, flags: StateFlags): Policy {
  return resolvePolicy(policySourcesOf(around, flags));
}

/** The policy settings given by flags and by the file. */
export function policySourcesOf(around: ConfigSources, flags: StateFlags): PolicySources {
  const text = policyTextOf(around, flags);
  return {
    preset: flags.preset,
    file: text === undefined ? undefined : parsePolicyFile(text, policyPathOf(around, flags)),
    flags: flags.readOnly === true ? { readOnly: true } : undefined,
  };
}

/** State folder and store as settings, each with the source of its value. */
export function placeSettings(around: ConfigSources, flags: StateFlags): Setting[] {
  const { home, store } = placesOf(around, flags);
  const fromEnvironment = (name: string): Origin => (around.env[name] ? 'environment' : 'default');
  return [
    { key: 'home', value: home, origin: fromEnvironment('LOOKFIRST_HOME'), meaning: 'the state folder' },
    {
      key: 'store',
      value: withoutPassword(store),
      origin: flags.store ? 'flag' : fromEnvironment('LOOKFIRST_STORE'),
      meaning: 'where sightings and journal are kept',
    },
  ];
}

/**
 * Opens a workspace for any number of sessions, but no session yet. The caller must close the
 * result.
 */
export async function openWorkspace(
  around: ConfigSources,
  flags: StateFlags,
  roots: readonly string[],
): Promise<Sessions> {
  return openAt(around, flags, { roots, ...placesOf(around, flags) });
}

/** The roots that a command opens, and the folders that its user gave. */
interface CommandFolders {
  readonly roots: readonly string[];
  readonly folders: readonly string[];
}

/**
 * Like `openWorkspace`, for a command of the user. A workspace name from a flag or the environment
 * applies only if all opened roots are among `folders`, the folders that the user gave. The name is
 * then saved for all of `folders`, even if the command opens only some of them.
 */
export async function openForCommand(
  around: ConfigSources,
  flags: StateFlags,
  { roots, folders }: CommandFolders,
): Promise<Sessions> {
  const { workspace, ...places } = placesOf(around, flags);
  const isMeant = roots.every((root) => folders.includes(root));
  const saveAs = workspace === undefined || !isMeant ? undefined : { workspace, roots: folders };
  return openAt(around, flags, { roots, ...places, saveAs });
}

/**
 * Like `openForCommand`, for a command that only reads. A workspace name is not saved: `folders`
 * get it only for this command, and only if no folder of this machine has it yet.
 */
export async function openForReading(
  around: ConfigSources,
  flags: StateFlags,
  { roots, folders }: CommandFolders,
): Promise<Sessions> {
  const { home, store, workspace } = placesOf(around, flags);
  const readAs = workspace === undefined ? undefined : { workspace, roots: folders };
  return openAt(around, flags, { roots, home, store, readAs });
}

async function openAt(
  around: ConfigSources,
  flags: StateFlags,
  { saveAs, readAs, ...places }: Places & Pick<WorldOptions, 'roots' | 'saveAs' | 'readAs'>,
): Promise<Sessions> {
  // Parse the policy before opening the workspace, so that an error in a policy file names the
  // file.
  policyOf(around, flags);
  const policyFile = policyTextOf(around, flags);
  // Import the module here, not at the top of the file: a server loads this file before its first
  // answer, but opens a workspace only later.
  const { Sessions } = await import('./sessions.ts');
  const options = {
    ...places,
    ...defined({ preset: flags.preset, policyFile }),
    ...(flags.readOnly === true ? { policy: { readOnly: true } } : {}),
  };
  return Sessions.open(options, { saveAs, readAs });
}

/** The device and inode number of the folder at each root; undefined for a root that cannot be found. */
export function foldersAt(roots: readonly string[]): readonly (string | undefined)[] {
  return roots.map(folderIdentity);
}

/** A workspace without the roots that could not be opened. */
export interface UsableRoots {
  /** Undefined if no root could be opened. */
  readonly sessions: Sessions | undefined;
  /** One fault for each root that could not be opened. */
  readonly leftOut: readonly Fault[];
}

/**
 * Reasons of a fault that concern one root alone: its path is relative, there is no folder at its
 * path, or it lies in the state folder.
 */
const OF_THE_ROOT: ReadonlySet<string | undefined> = new Set([
  'relative',
  'missing',
  'not-a-directory',
  'in-state',
]);
/**
 * System errors that concern one root alone: this user cannot reach it. Other errors may be
 * temporary, or concern all roots.
 */
const UNREACHABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

function concernsRoot(error: unknown): error is Fault {
  if (!(error instanceof Fault) || error.code !== 'CONFIG_INVALID') return false;
  return (
    OF_THE_ROOT.has(error.reason) || (error.reason === 'unreadable' && UNREACHABLE.has(errnoOf(error.cause)))
  );
}

/**
 * Opens the roots that a client named, except those that are not folders, that the user cannot
 * reach, or that lie in the state folder. Throws any other fault, for example if the store cannot
 * be opened: without the store, no root can be guarded.
 */
export async function openUsable(
  roots: readonly string[],
  open: (roots: readonly string[]) => Promise<Sessions>,
): Promise<UsableRoots> {
  try {
    return { sessions: await open(roots), leftOut: [] };
  } catch (error) {
    if (!concernsRoot(error)) throw error;
    if (roots.length === 1) return { sessions: undefined, leftOut: [error] };
  }
  const usable: string[] = [];
  const leftOut: Fault[] = [];
  for (const root of roots) {
    try {
      await (await open([root])).close();
      usable.push(root);
    } catch (reason) {
      if (!concernsRoot(reason)) throw reason;
      leftOut.push(reason);
    }
  }
  return { sessions: usable.length === 0 ? undefined : await open(usable), leftOut };
}

/**
 * The folders that can be opened. Like the official MCP file server, skips the others with a
 * warning, and throws if none is left.
 */
export async function accessibleFolders(
  roots: readonly string[],
  log: (line: string) => void,
): Promise<readonly string[]> {
  // Import the module here, not at the top of the file: servers that do not call this function then
  // start without loading it.
  const { Workspace } = await import('../workspace/workspace.ts');
  const accessible = roots.filter((root) => {
    try {
      Workspace.open([root]).close();
      return true;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      log(
        error.reason === 'not-a-directory'
          ? `Warning: ${root} is not a directory, skipping`
          : `Warning: Cannot access directory ${root}, skipping`,
      );
      return false;
    }
  });
  if (accessible.length === 0)
    throw new Fault('CONFIG_INVALID', 'Error: None of the specified directories are accessible');
  return accessible;
}
