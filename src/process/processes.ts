import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedFiles } from '../dialect/calls/shell/destroyed.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { HIDDEN_STATE_VARIABLE } from '../model/path.ts';
import type { Unavailable } from './git.ts';
import { GitFacts } from './git-blobs.ts';
import { dropSnapshot, expiredSnapshots, type TakenSnapshot, takeSnapshot } from './git-snapshot.ts';
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
import { namesOfFiles } from './named-files.ts';
import { type Probe, probe } from './probe.ts';
import { type Elsewhere, runElsewhere } from './run-elsewhere.ts';
import { COMMAND_VARIABLE, type CommandEnd, endCommands, runSandboxed } from './run-sandboxed.ts';
import type { HiddenPath, SandboxPlan } from './sandbox.ts';

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
  /** Identifies this process. Only a process that removes leftovers of other processes needs it. */
  readonly owner?: { readonly tag: string; isTagAlive(tag: string): boolean };
}

/** One command to run in a sandbox. Its writes go to a new layer over the workspace. */
export interface CommandRequest extends Omit<SandboxPlan, 'layer' | 'hidden' | 'streams' | 'locale'> {
  /** The id of the layer and of the kept output: letters and digits only. */
  readonly id: string;
  readonly session: string;
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
  /** Set if a shell script starts the command, not this process. The other fields still apply. */
  readonly elsewhere?: Elsewhere | undefined;
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
 * per workspace.
 */
export class Processes {
  readonly #options: ProcessesOptions;
  #probe: Promise<Probe> | undefined;
  /** Facts about repositories that are remembered between commands. */
  readonly gitFacts: GitFacts = new GitFacts();
  readonly #names = new WeakMap<NamedFiles, Promise<readonly string[]>>();
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

  /**
   * The paths that a glob or a search in a shell command matches. Cached, so later calls return the
   * matches of the first one. `start`: the absolute folder where relative paths of the line start.
   */
  namesOf(files: NamedFiles, start: string): Promise<readonly string[]> {
    const known = this.#names.get(files) ?? namesOfFiles(files, start);
    this.#names.set(files, known);
    return known;
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
    const { elsewhere } = request;
    const layer = newLayer(home, request, elsewhere?.owner ?? owner?.tag);
    try {
      const plan = {
        ...request,
        hidden: [...secrets, { path: home, kind: 'folder' } as const],
        streams: request.output === 'inherit' ? ('two' as const) : ('one' as const),
      };
      const marks = { [COMMAND_VARIABLE]: request.id, [HIDDEN_STATE_VARIABLE]: home };
      if (elsewhere !== undefined) {
        const { id, session } = request;
        const run = { plan, layer, id, session, env: marks, owner: owner?.tag };
        return { layer, end: await runElsewhere(tools, run, elsewhere), output: output.end() };
      }
      const end = await runSandboxed(
        tools,
        { ...plan, layer },
        {
          env: { ...(confined ? confinedEnvironment(env, request.env) : env), ...marks },
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

  /** Takes a snapshot of a git work tree, before a command that runs without a layer. */
  async snapshot(root: string, name: string, signal: AbortSignal): Promise<TakenSnapshot | Unavailable> {
    const folder = join(this.#options.home, 'snapshots');
    return takeSnapshot(root, { folder, name, signal, facts: this.gitFacts });
  }

  /** Removes the folders of discarded layers. */
  close(): void {
    if (this.#tidying === undefined) return;
    clearTimeout(this.#tidying);
    removeSpentLayers(this.#options.home);
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
      if (owner !== undefined) endCommands(abandonedLayers(home, owner.isTagAlive));
      for (const layer of layers) removeLayer(layer);
      if (layers.length > 0) removeSpentLayers(home);
      for (const path of outputs) rmSync(path, { force: true });
      for (const index of expiredSnapshots(home, nowMs)) dropSnapshot({ index });
    }
    return { layers: layers.length, outputs: outputs.filter((path) => !path.endsWith('.json')).length };
  }
}

function newLayer(
  home: string,
  { id, layered, mounted, boundThrough, profile }: CommandRequest,
  owner: string | undefined,
): Layer {
  try {
    const layer = makeLayer(home, id, layered, owner);
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

/**
 * The existing paths of a list that must be hidden. `~/` at the start means the user's home folder.
 * A path that cannot be inspected is left out, because the command could not read it either.
 */
function hiddenPaths(paths: readonly string[], homeFolder: string | undefined): HiddenPath[] {
  return paths.flatMap((path) => {
    const absolute = path.startsWith('~/') ? homeFolder && join(homeFolder, path.slice(2)) : path;
    const hidden = absolute === undefined ? undefined : hiddenPath(absolute);
    return hidden === undefined ? [] : [hidden];
  });
}

function hiddenPath(path: string): HiddenPath | undefined {
  try {
    const real = realpathSync.native(path);
    return { path: real, kind: statSync(real).isDirectory() ? 'folder' : 'file' };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
