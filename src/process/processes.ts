import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { errnoOf } from '../model/errno.ts';
import { takeSnapshot, type Unavailable } from './git-snapshot.ts';
import { expiredOutputs, KeptOutput, readKeptOutput, type ShownOutput } from './kept-output.ts';
import {
  expiredLayers,
  type Layer,
  type LayerRecord,
  makeLayer,
  makePassage,
  openLayer,
  removeLayer,
} from './layer.ts';
import type { AttributeReader } from './layer-entries.ts';
import { type Probe, probe } from './probe.ts';
import { type CommandEnd, runSandboxed } from './run-sandboxed.ts';
import type { HiddenPath, Profile } from './sandbox.ts';

export interface ProcessesOptions {
  /** Our state folder: layers and outputs are kept there, and no command sees it. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly attributes: AttributeReader | undefined;
}

/** One command to run on a new layer. */
export interface CommandRequest {
  /** Names the layer and the kept output; letters and digits. */
  readonly id: string;
  readonly session: string;
  readonly profile: Profile;
  readonly layered: readonly string[];
  readonly boundThrough: readonly string[];
  readonly cwd: string;
  readonly command: readonly string[];
  /** Paths that a confined command must not see; `~/` begins the user's home folder. */
  readonly hide: readonly string[];
  /** Variables that a confined command gets besides the harmless ones. */
  readonly env: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `kept`: bounded in the result, whole in the state folder. `inherit`: the command uses this process's own. */
  readonly output: 'kept' | 'inherit';
  /** Called as output arrives, with the number of bytes so far. */
  readonly onOutput?: ((bytes: number) => void) | undefined;
}

/** A command that has come to its end, and the layer it wrote to. The caller removes the layer. */
export interface CommandRun {
  readonly layer: Layer;
  readonly end: CommandEnd;
  readonly output: ShownOutput;
}

/** Variables that a confined command gets; everything else may hold a token. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|TZ|CI)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** What commands left in the state folder and nobody can use any more. */
export interface ExpiredWork {
  readonly layers: number;
  readonly outputs: number;
}

/** Runs commands on layers over the workspace. One per state folder and process; it holds nothing open. */
export class Processes {
  readonly #options: ProcessesOptions;
  #probe: Promise<Probe> | undefined;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Whether commands can be run here; tried once. */
  probe(): Promise<Probe> {
    const { home, env, attributes } = this.#options;
    this.#probe ??= probe({
      home,
      attributes,
      platform: process.platform,
      path: env['PATH'] ?? '',
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
      id: `probe${process.pid}`,
    });
    return this.#probe;
  }

  async run(request: CommandRequest, { tools }: Extract<Probe, { ok: true }>): Promise<CommandRun> {
    const { home, env } = this.#options;
    const layer = makeLayer(home, request.id, request.layered);
    for (const index of request.boundThrough.keys()) makePassage(layer, index);
    const confined = request.profile.kind === 'confine';
    const secrets = confined ? hiddenPaths(request.hide, homedir()) : [];
    const output = new KeptOutput(home, request);
    try {
      const end = await runSandboxed(
        tools,
        {
          ...request,
          layer: layer.folder,
          hidden: [...secrets, { path: home, kind: 'folder' }],
          streams: request.output === 'inherit' ? 'two' : 'one',
        },
        {
          env: { ...(confined ? confinedEnvironment(env, request.env) : env), LOOKFIRST_COMMAND: request.id },
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
    }
  }

  /** The state of a git work tree, for commands that run without a layer. */
  snapshot(root: string, name: string, signal: AbortSignal): Promise<TreeSnapshot | Unavailable> {
    return takeSnapshot(root, { folder: join(this.#options.home, 'snapshots'), name, signal });
  }

  /** A layer that was kept after a conflict. */
  kept(id: string): (Layer & LayerRecord) | undefined {
    return openLayer(this.#options.home, id);
  }

  /** All that one of this session's commands has printed, if it was too much for its answer. */
  output(id: string, session: string): Buffer | undefined {
    return readKeptOutput(this.#options.home, { id, session });
  }

  /** Removes layers and outputs whose time is over, and says how many there were. A dry run removes nothing. */
  expire({ nowMs, dryRun }: { readonly nowMs: number; readonly dryRun: boolean }): ExpiredWork {
    const { home } = this.#options;
    const layers = expiredLayers(home, nowMs);
    const outputs = expiredOutputs(home, nowMs);
    if (!dryRun) {
      for (const layer of layers) removeLayer(layer);
      for (const path of outputs) rmSync(path, { force: true });
    }
    return { layers: layers.length, outputs: outputs.filter((path) => !path.endsWith('.json')).length };
  }
}

/** Whether commands can be run with the first of these state folders that exists. */
export function probeAt(homes: readonly string[], options: Omit<ProcessesOptions, 'home'>): Promise<Probe> {
  const home = homes.find((each) => existsSync(each)) ?? homes[0] ?? '';
  return new Processes({ ...options, home }).probe();
}

/** The environment of a confined command: the harmless variables, and those that the policy names. */
function confinedEnvironment(env: Environment, named: readonly string[]): Environment {
  const passed = Object.entries(env).filter(([name]) => PASSED.test(name) || named.includes(name));
  return { ...Object.fromEntries(passed), TMPDIR: '/tmp' };
}

/**
 * What to hide of a list of paths, of which `~/` begins the user's home folder. A path that does not exist needs no hiding;
 * one that cannot be looked at is nothing the command could read either.
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
