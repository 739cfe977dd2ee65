import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { HIDDEN_STATE_VARIABLE } from '../model/path.ts';
import { BlobFacts } from './git-blobs.ts';
import {
  type Candidate,
  candidatesSince,
  dropSnapshot,
  expiredSnapshots,
  takeSnapshot,
} from './git-snapshot.ts';
import { hiddenPaths } from './hidden-paths.ts';
import { expiredOutputs, KeptOutput, readKeptOutput, type ShownOutput } from './kept-output.ts';
import { FILTER, keyFilter } from './key-filter.ts';
import {
  abandonedLayers,
  expiredLayers,
  type Layer,
  type LayerRecord,
  makeLayer,
  makeLower,
  makePassage,
  mountsBelow,
  openLayer,
  removeLayer,
  removeSpentLayers,
} from './layer.ts';
import type { AttributeReader } from './layer-entries.ts';
import { gitFolderOf } from './own-files.ts';
import { type Probe, probe } from './probe.ts';
import type { Unavailable } from './run-git.ts';
import { COMMAND_VARIABLE, type CommandEnd, endCommands, runSandboxed } from './run-sandboxed.ts';
import type { Profile } from './sandbox.ts';
import { removeWarmLeftovers, type TaggedOwner, WarmTree } from './warm-tree.ts';

interface ProcessesOptions {
  /** The user's home folder, if one is known: `~` in the paths that are hidden from commands. */
  readonly homeFolder?: string | undefined;
  /**
   * The state folder. It stores the layers with the writes of commands and their long outputs. No
   * command sees it.
   */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly attributes: AttributeReader | undefined;
  /**
   * Identifies this process. Only a process that watches work trees, or that removes leftovers of
   * other processes, needs it.
   */
  readonly owner?: TaggedOwner;
}

/** One command to run in a sandbox. Its writes go to a new layer over the workspace. */
export interface CommandRequest {
  /** The id of the layer and of the kept output: letters and digits only. */
  readonly id: string;
  readonly session: string;
  readonly profile: Profile;
  readonly layered: readonly string[];
  /**
   * Indexes of the folders in `layered` at which another file system is mounted; see
   * `SandboxPlan.mounted`.
   */
  readonly mounted: readonly number[];
  readonly boundThrough: readonly string[];
  readonly cwd: string;
  readonly command: readonly string[];
  /** Paths that a confined command must not see. `~/` at the start means the user's home folder. */
  readonly hide: readonly string[];
  /**
   * Environment variables that a confined command gets in addition to those that match `PASSED`.
   */
  readonly env: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * `kept`: the result contains the beginning and the end of the output, and the state folder
   * stores the whole output. `inherit`: the command writes to the stdout and stderr of this
   * process.
   */
  readonly output: 'kept' | 'inherit';
  /** Called as output arrives, with the number of bytes so far. */
  readonly onOutput?: ((bytes: number) => void) | undefined;
}

/** A finished command and the layer it wrote to. The caller removes the layer. */
export interface CommandRun {
  readonly layer: Layer;
  readonly end: CommandEnd;
  readonly output: ShownOutput;
}

/** Delay between the end of the last command and the removal of discarded layers. */
const TIDY_MS = 1000;
/** If the first snapshot of a watched work tree takes longer than this, it is given up. */
const WARM_UP_MS = 120_000;
const LATE: Unavailable = { unavailable: 'the first comparison of the work tree is not finished yet' };

/**
 * Matches the variables that every confined command gets. Any other may hold a token, so the policy
 * must name it.
 */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|TZ|CI)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** Numbers of expired layers and of expired outputs in the state folder. */
export interface ExpiredWork {
  readonly layers: number;
  readonly outputs: number;
}

/**
 * Runs commands in sandboxes. Their writes go to layers over the workspace. There is one instance
 * per workspace; `close` stops watching work trees.
 */
export class Processes {
  readonly #options: ProcessesOptions;
  #probe: Promise<Probe> | undefined;
  /**
   * Watched work trees by root. Undefined before `keepWarm` and after `close`: then no work tree is
   * watched.
   */
  #warm: Map<string, WarmTree> | undefined;
  readonly #blobs = new BlobFacts();
  /** The first snapshots that are being taken now, by the root of their work tree. */
  readonly #warming = new Map<string, Promise<TreeSnapshot | Unavailable>>();
  readonly #closing = new AbortController();
  #tidying: NodeJS.Timeout | undefined;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Tests whether commands can run here. Later calls return the first result. */
  probe(): Promise<Probe> {
    const { home, env, attributes, owner } = this.#options;
    this.#probe ??= probe({
      home,
      attributes,
      platform: process.platform,
      path: env['PATH'] ?? '',
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
      id: `probe${randomBytes(6).toString('hex')}`,
      owner: owner?.tag,
    });
    return this.#probe;
  }

  /** The folder that `~` means in a command. */
  get userHome(): string | undefined {
    const { env, homeFolder } = this.#options;
    return env['HOME'] ?? homeFolder;
  }

  async run(request: CommandRequest, { tools }: Extract<Probe, { ok: true }>): Promise<CommandRun> {
    const { home, env, owner, homeFolder } = this.#options;
    const confined = request.profile.kind === 'confine';
    const secrets = confined ? hiddenPaths(request.hide, homeFolder) : [];
    const output = new KeptOutput(home, request);
    const layer = newLayer(home, request, owner);
    try {
      const end = await runSandboxed(
        tools,
        {
          ...request,
          layer,
          hidden: [...secrets, { path: home, kind: 'folder' }],
          streams: request.output === 'inherit' ? 'two' : 'one',
        },
        {
          env: {
            ...(confined ? confinedEnvironment(env, request.env) : env),
            [COMMAND_VARIABLE]: request.id,
            [HIDDEN_STATE_VARIABLE]: home,
          },
          id: request.id,
          timeoutMs: request.timeoutMs,
          signal: request.signal,
          output:
            request.output === 'inherit'
              ? 'inherit'
              : (chunk) => {
                  output.add(chunk);
                  request.onOutput?.(output.bytes);
                },
        },
      );
      return { layer, end, output: output.end() };
    } catch (error) {
      removeLayer(layer);
      throw error;
    } finally {
      this.#tidyLater();
    }
  }

  /**
   * Removes the folders of discarded layers later, when no command has run for `TIDY_MS`: the
   * removal takes several milliseconds and would delay an answer.
   */
  #tidyLater(): void {
    clearTimeout(this.#tidying);
    this.#tidying = setTimeout(() => removeSpentLayers(this.#options.home), TIDY_MS);
    this.#tidying.unref();
  }

  /**
   * Watches large work trees between snapshots from now on, until `close`. For a process that
   * answers many commands.
   */
  keepWarm(): void {
    this.#warm ??= new Map();
    this.#removeLeftovers();
  }

  /**
   * Takes a snapshot of a git work tree, before a command that runs without a layer. After the
   * command, `candidates` compares the work tree with it.
   */
  async snapshot(root: string, name: string, signal: AbortSignal): Promise<TreeSnapshot | Unavailable> {
    const folder = join(this.#options.home, 'snapshots');
    if (this.#warm === undefined) return takeSnapshot(root, { folder, name, signal, blobs: this.#blobs });
    const known = await this.#warm.get(root)?.snapshot(join(folder, name));
    return known ?? this.#firstSnapshot(root, name, signal);
  }

  /**
   * Like `snapshot`, for another worktree of the repository, which a command may remove: it is never
   * watched.
   */
  async worktreeSnapshot(
    root: string,
    name: string,
    signal: AbortSignal,
  ): Promise<TreeSnapshot | Unavailable> {
    const folder = join(this.#options.home, 'snapshots');
    const shared = gitFolderOf(root);
    const taken = await takeSnapshot(root, { folder, name, signal, blobs: this.#blobs });
    return 'unavailable' in taken || shared === undefined ? taken : { ...taken, shared };
  }

  /**
   * Takes the first snapshot of a work tree. If the tree is large, it is watched from then on. If
   * the caller's deadline passes, the snapshot continues in the background. Otherwise no command in
   * a slow work tree would ever get a snapshot.
   */
  async #firstSnapshot(root: string, name: string, signal: AbortSignal): Promise<TreeSnapshot | Unavailable> {
    const earlier = this.#warming.get(root);
    if (earlier !== undefined) {
      const isOver = (await unlessAborted(earlier, signal)) !== undefined;
      return isOver ? this.snapshot(root, name, signal) : LATE;
    }
    const warming = this.#warmUp(root, name).finally(() => this.#warming.delete(root));
    this.#warming.set(root, warming);
    const taken = await unlessAborted(warming, signal);
    if (taken !== undefined) return taken;
    void warming.then((late) => 'unavailable' in late || dropSnapshot(late)).catch(() => undefined);
    return LATE;
  }

  async #warmUp(root: string, name: string): Promise<TreeSnapshot | Unavailable> {
    const { home, owner } = this.#options;
    const tag = owner?.tag ?? String(process.pid);
    this.#warm?.get(root)?.close();
    this.#warm?.delete(root);
    let tree: WarmTree | undefined;
    // Start watching when the index is copied, before the files are compared, so that no change is
    // missed.
    const copied = async (index: string): Promise<void> => {
      tree = await WarmTree.begin(root, { index, home, tag });
    };
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(WARM_UP_MS)]);
    const folder = join(home, 'snapshots');
    const taken = await takeSnapshot(root, { folder, name, signal, blobs: this.#blobs, copied });
    if ('unavailable' in taken || this.#warm === undefined) tree?.close();
    else if (tree !== undefined) {
      tree.adopt(taken);
      this.#warm.set(root, tree);
    }
    return taken;
  }

  /** Returns the paths in the work tree that may have changed since the snapshot. */
  async candidates(snapshot: TreeSnapshot, signal: AbortSignal): Promise<readonly Candidate[] | Unavailable> {
    const warm = snapshot.shared === undefined ? this.#warm?.get(snapshot.root) : undefined;
    const known = await warm?.candidates(snapshot);
    return known ?? candidatesSince(snapshot, signal);
  }

  /** Ends all watching, and removes the folders of discarded layers. */
  close(): void {
    this.#closing.abort();
    for (const tree of this.#warm?.values() ?? []) tree.close();
    this.#warm = undefined;
    if (this.#tidying === undefined) return;
    clearTimeout(this.#tidying);
    removeSpentLayers(this.#options.home);
  }

  #removeLeftovers(): void {
    const { home, owner } = this.#options;
    if (owner === undefined) return;
    removeWarmLeftovers(join(home, 'snapshots'), owner);
    endCommands(abandonedLayers(home, owner.isTagAlive));
  }

  /**
   * Returns the folders below `folders` at which another file system is mounted. Each of them needs
   * its own layer. Folders in `except` and the state folder are left out.
   */
  mountsBelow(folders: readonly string[], except: readonly string[]): readonly string[] {
    return mountsBelow(folders, [...except, this.#options.home]);
  }

  /**
   * The writes of a command that were kept after a conflict; undefined if there are none with this
   * id.
   */
  kept(id: string): (Layer & LayerRecord) | undefined {
    return openLayer(this.#options.home, id);
  }

  /** The whole output of one of this session's commands, if it did not fit into the answer. */
  output(id: string, session: string): Buffer | undefined {
    return readKeptOutput(this.#options.home, { id, session });
  }

  /**
   * Removes expired layers, outputs and snapshots. Also ends commands that a killed process has
   * left running. Returns the numbers of expired layers and outputs. A dry run only counts them.
   */
  expire({ nowMs, dryRun }: { readonly nowMs: number; readonly dryRun: boolean }): ExpiredWork {
    const { home, owner } = this.#options;
    const layers = expiredLayers(home, nowMs, owner?.isTagAlive ?? (() => false));
    const outputs = expiredOutputs(home, nowMs);
    if (!dryRun) {
      // Before their layers are removed, end the commands of processes that died.
      this.#removeLeftovers();
      for (const layer of layers) removeLayer(layer);
      if (layers.length > 0) removeSpentLayers(home);
      for (const path of outputs) rmSync(path, { force: true });
      for (const index of expiredSnapshots(home, nowMs)) dropSnapshot({ index });
    }
    return { layers: layers.length, outputs: outputs.filter((path) => !path.endsWith('.json')).length };
  }
}

/** The result, or undefined if the signal aborts first. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(undefined);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function newLayer(
  home: string,
  { id, layered, mounted, boundThrough, profile }: CommandRequest,
  owner: TaggedOwner | undefined,
): Layer {
  try {
    const layer = makeLayer(home, id, layered, owner?.tag);
    for (const index of boundThrough.keys()) makePassage(layer, index);
    for (const index of mounted) makeLower(layer, index);
    if (profile.kind === 'confine') writeFileSync(join(layer.folder, FILTER), keyFilter(), { mode: 0o600 });
    return layer;
  } catch (error) {
    const reason = errnoOf(error);
    if (reason === undefined) throw error;
    const message = `the command was not started: no layer can be made in ${home}: ${reason}`;
    throw new Fault('IO_FAILED', message, { cause: error, path: home, reason, unchanged: true });
  }
}

/** Tests whether commands can run, with the first of these state folders that exists. */
export function probeAt(homes: readonly string[], options: Omit<ProcessesOptions, 'home'>): Promise<Probe> {
  const home = homes.find((each) => existsSync(each)) ?? homes[0] ?? '';
  return new Processes({ ...options, home }).probe();
}

/**
 * The environment of a confined command: the variables that match `PASSED`, those that the policy
 * names, and `TMPDIR`.
 */
function confinedEnvironment(env: Environment, named: readonly string[]): Environment {
  const passed = Object.entries(env).filter(([name]) => PASSED.test(name) || named.includes(name));
  return { ...Object.fromEntries(passed), TMPDIR: '/tmp' };
}
