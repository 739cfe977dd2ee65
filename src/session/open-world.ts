import { join } from 'node:path';
import { policyFilePath, stateFolder, userHome } from '../config/home.ts';
import { whyNodeIsTooOld } from '../config/node-version.ts';
import { GIT_FOLDERS } from '../config/protected.ts';
import { loadNative, openDisk } from '../disk/context.ts';
import { Baselines } from '../gate/baselines.ts';
import { Claims } from '../gate/claims.ts';
import { KeptFiles } from '../gate/host/kept-files.ts';
import { SettledCalls } from '../gate/host/settled-calls.ts';
import { SecretValues } from '../gate/known-secrets.ts';
import { clearOldShelf, noteOwnLateWrites, watchLateWrites } from '../gate/late-writes.ts';
import { recoverWorld } from '../gate/recover.ts';
import type { World } from '../gate/world.ts';
import { errnoOf, Fault, HOME_CURE } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import { commonGitFolder } from '../process/git.ts';
import { Processes } from '../process/processes.ts';
import { openState } from '../store/open-state.ts';
import { prepareHome } from '../store/prepare-home.ts';
import type { FleetOptions } from '../store/state.ts';
import type { Guarantee } from '../workspace/pinned.ts';
import { Workspace } from '../workspace/workspace.ts';
import { keepPolicyOutOfReach, keepStateOutOfReach } from './out-of-reach.ts';

export interface WorldOptions {
  readonly roots: readonly string[];
  /** Absolute paths of folders that may be read but not changed: inside a root, or separate roots. */
  readonly readOnlyRoots?: readonly string[] | undefined;
  /**
   * `memory:`, `sqlite:/absolute/file.db`, or `postgres://…`, which several machines can share. Default: SQLite in the
   * state folder, shared by all processes.
   */
  readonly store?: string | undefined;
  /** With PostgreSQL: the name of this workspace on every machine. */
  readonly workspace?: string | undefined;
  /**
   * With PostgreSQL: the name to save for folders that a user gives to a command. From then on,
   * these folders belong to the workspace with that name.
   */
  readonly saveAs?: FleetOptions['saveAs'];
  /** Like `saveAs`, for a command that only reads: the name is not saved. */
  readonly readAs?: FleetOptions['saveAs'];
  /** With PostgreSQL: true if several machines write to the roots, on a network file system. */
  readonly sharedWorkspace?: boolean | undefined;
  /** The state folder. Default: `LOOKFIRST_HOME`, else the platform's state location. */
  readonly home?: string | undefined;
  readonly policy: Policy;
  /**
   * The required protection against paths that lead out of the roots. Opening fails if the machine
   * offers only a weaker one.
   */
  readonly require?: Guarantee | undefined;
  readonly now?: (() => number) | undefined;
}

export interface OpenWorld extends World {
  close(): Promise<void>;
}

/**
 * Opens the parts that all sessions share (workspace, store, locks and others), and cleans up after
 * processes that died. No other code wires these parts together.
 */
export async function openWorld(options: WorldOptions): Promise<OpenWorld> {
  const tooOld = whyNodeIsTooOld(process.versions.node);
  if (tooOld !== undefined) throw new Fault('CONFIG_INVALID', tooOld);
  const givenHome = options.home ?? defaultHome();
  const home = prepareHome(givenHome);
  const opened: CloseStep[] = [];
  try {
    const world = await assemble({ ...options, home, givenHome }, opened);
    await recoverWorld(world);
    return world;
  } catch (error) {
    // Report the original error, not failures while closing.
    await closeAll(opened).catch(() => undefined);
    throw stateFault(error, home);
  }
}

/**
 * The git folders that roots share with other worktrees of the same repository. Leaves out git
 * folders inside a root.
 */
function extraRootsOf(roots: readonly string[]): readonly string[] {
  if (!Array.isArray(roots)) return [];
  // Skip roots that are not strings, which callers of the library may pass.
  const named = roots.filter((root) => typeof root === 'string');
  const common = named.flatMap((root) => commonGitFolder(root) ?? []);
  const isInside = (folder: string): boolean => named.some((root) => isWithin(folder, root));
  return [...new Set(common)].filter((folder) => !isInside(folder));
}

type CloseStep = () => void | Promise<void>;

async function assemble(
  options: WorldOptions & { readonly home: string; readonly givenHome: string },
  opened: CloseStep[],
): Promise<OpenWorld> {
  const { policy, home } = options;
  const url = options.store ?? `sqlite:${join(home, 'lookfirst.db')}`;
  const workspace = Workspace.open(options.roots, {
    protect: policy.protected,
    protectFolders: [home],
    ...(options.readOnlyRoots === undefined ? {} : { readOnlyRoots: options.readOnlyRoots }),
    extraRoots: extraRootsOf(options.roots),
    opensOwn: policy.verificationErrors === 'allow',
    releaseForCommands: [...GIT_FOLDERS, ...policy.commands.trust],
    ...(options.require === undefined ? {} : { require: options.require }),
  });
  opened.push(() => workspace.close());
  keepStateOutOfReach(workspace.roots, options.givenHome);
  keepPolicyOutOfReach({ workspace, home }, policyFilePath(home, process.platform));
  const { durability } = policy;
  const state = await openState(url, {
    home,
    durability,
    fleet: {
      roots: workspace.roots,
      workspace: options.workspace,
      saveAs: options.saveAs,
      readAs: options.readAs,
      sharedWorkspace: options.sharedWorkspace,
      imageSecrets: 'here',
    },
  });
  opened.push(() => state.close());
  const { store, images, locks, owner, revisionOf, shared } = state;
  const disk = openDisk({ home, owner: owner.tag, durability });
  opened.push(() => disk.close());
  const baselines = new Baselines(images, { share: shared });
  const now = options.now ?? Date.now;
  const openedMs = now();
  const lateWatch = watchLateWrites(() => world);
  opened.push(clearRegularly(() => world));
  opened.push(() => noteOwnLateWrites(world, openedMs));
  opened.push(() => lateWatch.close());
  const attributes = disk.native ?? loadNative();
  const processes = new Processes({ home, env: process.env, homeFolder: userHome(), attributes, owner });
  opened.push(() => processes.close());
  const world: OpenWorld = {
    workspace,
    disk,
    locks,
    store,
    images,
    home,
    policy,
    baselines,
    lateWatch,
    settledCalls: new SettledCalls(),
    claims: new Claims({ store, baselines, policy, workspace, now }),
    processes,
    keptFiles: new KeptFiles(),
    secretValues: new SecretValues(),
    revisionOf,
    owner: owner.id,
    isAlive: owner.isAlive,
    now,
    close: () => closeAll(opened),
  };
  return world;
}

/** Servers clear the shelf a minute after their start, then every hour. Short-lived processes end before that. */
const FIRST_CLEAR_MS = 60_000;
const CLEAR_EVERY_MS = 3_600_000;
/** Contents that were only read are removed after this time. */
const READ_KEPT_MS = 24 * 3_600_000;

/**
 * Removes displaced files and contents that were only read after a day, so that the state stays
 * small without `gc`. Failures are left to the next run; `gc` reports them.
 */
function clearRegularly(world: () => World): CloseStep {
  let clearing: Promise<unknown> = Promise.resolve();
  const clear = async (): Promise<void> => {
    world().images.removeRead?.(world().now() - READ_KEPT_MS);
    await clearOldShelf(world(), world().now());
  };
  const clearLater = (ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      clearing = clear().catch(() => undefined);
      timer = clearLater(CLEAR_EVERY_MS);
    }, ms).unref();
  let timer = clearLater(FIRST_CLEAR_MS);
  return async () => {
    clearTimeout(timer);
    await clearing;
  };
}

/** Runs all close steps, the last opened first, even if some of them fail. Throws the first failure. */
async function closeAll(opened: readonly CloseStep[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of opened.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Converts a system error to a Fault about the state folder. Errors of the workspace are Faults already. */
function stateFault(error: unknown, home: string): unknown {
  const errno = errnoOf(error);
  if (error instanceof Fault || errno === undefined) return error;
  const message = `the state folder cannot be used: ${home} (${errno}); ${HOME_CURE}`;
  return new Fault('STORE_FAILED', message, { cause: error, path: home, reason: errno });
}

/** The state folder of this machine: `LOOKFIRST_HOME`, else the platform's state location. */
export function defaultHome(): string {
  return stateFolder({ platform: process.platform, env: process.env, homeFolder: userHome() });
}
