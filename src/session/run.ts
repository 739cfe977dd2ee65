import { resolve } from 'node:path';
import { parsedLine, type ShellLine, TOO_DEEP_REASON } from '../dialect/calls/shell/shell-line.ts';
import { listUnsorted, subfolderTest } from '../disk/list.ts';
import { newChangeId } from '../gate/announce.ts';
import { type CommittedCommand, commitCommand, type LayerCommit } from '../gate/command/commit-command.ts';
import { type BeyondLayer, keepBeyondLayer } from '../gate/host/command.ts';
import { endStatesBeyondLayer } from '../gate/host/command-end-states.ts';
import { learnSecrets, outputMask } from '../gate/secret-values.ts';
import { validateCommand, validateOptions } from '../gate/validate.ts';
import type { World } from '../gate/world.ts';
import type { ClientCall } from '../model/call.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { LIMITS } from '../model/limits.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { RunResult } from '../model/results.ts';
import type { Command, RunOptions } from '../model/session.ts';
import {
  invalidArgument,
  type Outcome,
  passOn,
  type Refusal,
  type Refused,
  refused,
} from '../model/verdict.ts';
import { ignoredByGit, repositoryAround } from '../process/git.ts';
import type { ShownOutput } from '../process/kept-output.ts';
import { keepLayer, type Layer, removeLayer } from '../process/layer.ts';
import type { Probe } from '../process/probe.ts';
import type { CommandRun } from '../process/processes.ts';
import type { Elsewhere } from '../process/run-elsewhere.ts';
import type { Profile, SandboxTools } from '../process/sandbox.ts';
import { clip, quotedWord } from '../report/bounded.ts';
import { type PathMatch, policyGlobMatcher } from '../text/glob/glob.ts';
import { withoutSecrets } from '../text/secrets.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';
import { outputPath } from './path-names.ts';

/**
 * Runs a command whose writes go to a separate layer over the workspace, then commits them as one
 * change. A command that was stopped, or whose writes are refused, changes nothing. The layer with
 * refused writes is kept if the user could still want to apply them.
 */
export async function runCommand(
  world: World,
  knowledge: Knowledge,
  {
    command,
    options,
    times,
    judge,
    elsewhere,
  }: {
    readonly command: Command;
    readonly options: RunOptions;
    readonly times: ClientCall;
    /** Judges the line by what it would destroy. Absent if the caller has done so. */
    readonly judge?: ((line: ShellLine, at: LineReach) => Promise<Outcome<object>>) | undefined;
    /** Set if a shell script starts the command, not this process. */
    readonly elsewhere?: Omit<Elsewhere, 'title'> | undefined;
  },
): Promise<Outcome<RunResult>> {
  const wrong = validateOptions(options, { of: 'run' }) ?? validateCommand(command);
  if (wrong !== undefined) return refused(wrong);
  const probe = await world.processes.probe();
  if (!probe.ok) return refused(noSandbox(`${probe.missing}; ${probe.cure}`));
  if (typeof command === 'object' && 'kept' in command)
    return applyKept(world, knowledge, { command, probe });
  const cwd = folderAt(world, options);
  if (!cwd.ok) return cwd;
  world.processes.expire({ nowMs: world.now(), dryRun: false });
  const scratch = await scratchFolders(world);
  const places = layeredFolders(world, { scratch, namespace: probe.tools.namespace });
  if (!places.ok) return places;
  const { profile, timeoutMs } = howToRun(world, options);
  const id = newChangeId();
  const parsed = parsedLine(lineOf(command), { home: world.processes.userHome });
  if (parsed === 'too deep') return refused(invalidArgument('run', '', TOO_DEEP_REASON));
  const reaches = profile.kind === 'undo' ? 'outside' : 'workspace';
  const judged = options.writes === 'discard' ? undefined : await judge?.(parsed, { cwd: cwd.path, reaches });
  if (judged?.ok === false) return judged;
  const beyond = await keepBeyondLayer(world, id, {
    line: parsed,
    place: { cwd: cwd.path, at: (path) => resolve(cwd.path, path) },
    reaches,
  });
  await learnSecrets(world, parsed.names());
  const title = withoutSecrets(options.title ?? [command].flat().join(' '));
  const run = await world.processes.run(
    {
      id,
      session: knowledge.session,
      profile,
      layered: places.layered,
      mounted: places.mounted,
      boundThrough: scratch.map(({ absolute }) => absolute),
      cwd: cwd.path,
      command: wordsOf(command, probe.tools),
      hide: world.policy.commands.hide,
      env: world.policy.commands.env,
      timeoutMs,
      signal: options.signal,
      output: options.output ?? 'kept',
      onOutput: options.onProgress,
      elsewhere: elsewhere && { ...elsewhere, title },
    },
    probe,
  );
  const outcome = await endOf(world, knowledge, { run, probe, title, options, times, beyond });
  return outcome.ok ? { ...outcome, scratch: scratch.map(({ relative }) => relative) } : outcome;
}

/** The folder of a command, and whether it may change files outside the workspace. */
export interface LineReach {
  readonly cwd: string;
  readonly reaches: 'outside' | 'workspace';
}

function wordsOf(command: string | readonly string[], { shell }: SandboxTools): readonly string[] {
  return typeof command === 'string' ? [shell, '-c', command] : command;
}

/** The end of Claude Code's shell lines: the shell reports its folder to the client. */
const REPORTS_FOLDER = / && pwd -P >\| \S+$/;

/** A command as a shell line. */
function lineOf(command: string | readonly string[]): string {
  if (typeof command === 'string') return command;
  return command.map((word) => quotedWord(word.replace(REPORTS_FOLDER, ''))).join(' ');
}

/**
 * Applies the writes of a command that were kept after a refusal. Overwrites what other programs
 * changed in the same files meanwhile.
 */
async function applyKept(
  world: World,
  knowledge: Knowledge,
  {
    command,
    probe,
  }: {
    readonly command: Extract<Command, { readonly kept: string }>;
    readonly probe: Extract<Probe, { ok: true }>;
  },
): Promise<Outcome<RunResult>> {
  const layer = world.processes.kept(command.kept);
  if (layer === undefined) return refused(await noLayer(world, command.kept));
  const elsewhere = layer.layered.find((folder) => world.workspace.pathOf(folder) === undefined);
  if (elsewhere !== undefined)
    return refused(invalidArgument('run', command.kept, `its writes belong to ${elsewhere}: run this there`));
  const commit: LayerCommit = {
    layer,
    attributes: probe.attributes,
    command: layer.command,
    writes: 'apply',
    meanwhile: 'overwrite',
    answer: 'shown',
  };
  const committed = await commitCommand(world, knowledge, commit);
  if (!committed.ok) return committed;
  removeLayer(layer);
  return { ...committed, output: NO_OUTPUT, scratch: [], endedProcesses: [] };
}

const NO_OUTPUT: RunResult['output'] = { head: '', bytes: 0, cutBytes: 0 };

interface Ended {
  readonly run: CommandRun;
  readonly probe: Extract<Probe, { ok: true }>;
  /** The command for the journal, with its secrets masked. */
  readonly title: string;
  readonly options: RunOptions;
  readonly times: ClientCall;
  readonly beyond: BeyondLayer;
}

async function endOf(world: World, knowledge: Knowledge, ended: Ended): Promise<Outcome<RunResult>> {
  const { layer, end } = ended.run;
  const show = await outputMask(world);
  const output = outputOf(ended.run.output, show);
  if (end.kind === 'not-started') {
    removeLayer(layer);
    return refused(noSandbox(end.reason));
  }
  if (end.kind === 'ended') {
    removeLayer(layer);
    return { ok: true, ended: end.why, output, ...NOTHING_DONE };
  }
  const { title } = ended;
  const writes = ended.options.writes ?? (world.policy.partial === 'lines' ? 'seen-only' : 'judged');
  const { attributes } = ended.probe;
  const { answer = 'shown' } = ended.options;
  const record = { session: knowledge.session, command: title };
  let committed: Outcome<CommittedCommand>;
  try {
    const endStates = await endStatesBeyondLayer(world, ended.beyond);
    const made = endStates.map(({ delta, now }) => ({ ...delta, after: now.side }));
    const commit = { layer, attributes, command: title, writes, meanwhile: 'merge', answer, made } as const;
    committed = await commitCommand(world, knowledge, { ...commit, times: ended.times });
  } catch (error) {
    const isKept = keepLayer(layer, record);
    // If the writes cannot be kept, for example because the disk is full, remove them to free room.
    if (!isKept) removeLayer(layer);
    throw notCommitted(error, isKept ? layer.id : undefined);
  }
  const endedProcesses = end.left.map((each) => clip(show(each), MAX_NAME_CHARS));
  if (!committed.ok) return keptFor(layer, committed, { ...record, output, endedProcesses });
  removeLayer(layer);
  return { ...committed, exitCode: end.code, output, scratch: [], endedProcesses };
}

/** Maximum length of a process's command line in an answer. */
const MAX_NAME_CHARS = 120;

/**
 * The error for writes of a command that could not be applied. It names the layer that keeps them,
 * if they are kept, because the user may want them.
 */
function notCommitted(error: unknown, layer: string | undefined): unknown {
  const fault = error instanceof Fault ? error : undefined;
  const reason = fault?.reason ?? errnoOf(error);
  if (fault === undefined && reason === undefined) return error;
  const { code = 'IO_FAILED', path, unchanged = false } = fault ?? {};
  const parts = [
    `the writes of the command could not be committed: ${fault?.message ?? reason}`,
    ...(unchanged ? ['nothing was changed'] : []),
    layer === undefined
      ? 'they were discarded: remove the cause, and run the command again'
      : `they are kept: after the cause is removed, the user can commit them with lookfirst run --apply ${layer}`,
  ];
  return new Fault(code, parts.join('; '), { cause: error, unchanged, ...defined({ path, reason }) });
}

const NOTHING_DONE: Omit<RunResult, 'output'> = {
  committed: false,
  files: [],
  cut: 0,
  scratch: [],
  merged: [],
  leftOut: [],
  droppedBits: [],
  notices: [],
  endedProcesses: [],
};

/**
 * Keeps the writes of a refused command, because the user may still want to apply them. If the
 * refusal concerns a protected path or a path outside the workspace, removes all of them instead.
 */
function keptFor(
  layer: Layer,
  { refusal }: Refused,
  {
    output,
    endedProcesses,
    ...record
  }: { session: string; command: string; output: RunResult['output']; endedProcesses: readonly string[] },
): Refused {
  const told = passOn(refusal, {
    output: output.head + (output.tail ?? ''),
    ...(endedProcesses.length === 0 ? {} : { endedProcesses }),
  });
  if (refusal.code === 'PROTECTED' || refusal.code === 'OUTSIDE_WORKSPACE') {
    removeLayer(layer);
    return refused(told);
  }
  if (keepLayer(layer, record)) return refused(passOn(told, { layer: layer.id }));
  removeLayer(layer);
  return refused(told);
}

function howToRun(
  world: World,
  options: RunOptions,
): { readonly profile: Profile; readonly timeoutMs: number | undefined } {
  if (options.profile === 'undo') return { profile: { kind: 'undo' }, timeoutMs: options.timeoutMs };
  const { network, fileBytes } = world.policy.commands;
  const { maxProcesses, commandMemoryBytes: memoryBytes, commandTimeoutMs: usual } = LIMITS;
  const timeoutMs = options.timeoutMs ?? usual;
  const limits = { timeoutMs, maxProcesses, memoryBytes, fileBytes };
  return { profile: { kind: 'confine', network: options.network ?? network, limits }, timeoutMs };
}

/**
 * Absolute path of the folder in which a command starts. A confined command must start in the
 * workspace; with the profile `undo`, a command may also start outside.
 */
function folderAt(world: World, { cwd: given, profile }: RunOptions): Outcome<{ readonly path: string }> {
  const found = world.workspace.resolve(given ?? world.workspace.roots[0] ?? '', 'run');
  const isOutside = !found.ok && found.refusal.code === 'OUTSIDE_WORKSPACE';
  if (isOutside && profile === 'undo' && given?.startsWith('/')) return { ok: true, path: given };
  if (!found.ok) return found;
  if (found.exists && found.stats.isDirectory()) return { ok: true, path: found.path.absolute };
  return refused(invalidArgument('run', given ?? '', 'cwd must be a folder'));
}

/**
 * The folders that get an overlay layer for a command's writes: the roots, the git folders that
 * they share with other worktrees, and file systems mounted inside these. Outer folders come first,
 * because inner layers are mounted over them.
 */
function layeredFolders(
  { workspace, processes }: World,
  { scratch, namespace }: { scratch: readonly ResolvedPath[]; namespace: SandboxTools['namespace'] },
): Outcome<{ readonly layered: readonly string[]; readonly mounted: readonly number[] }> {
  const roots = [...workspace.roots, ...workspace.gitFolders];
  if (roots.includes('/'))
    return refused(noSandbox('no layer can cover the whole file system (/): use a folder as the workspace'));
  const mounts = processes.mountsBelow(
    roots,
    namespace === 'root' ? scratch.map(({ absolute }) => absolute) : [],
  );
  if (namespace === 'user' && mounts[0] !== undefined)
    return refused(
      noSandbox(
        `another file system is mounted at ${mounts[0]}, so only root can put a layer over the workspace`,
      ),
    );
  const layered = [...roots, ...mounts].sort((a, b) => a.length - b.length);
  return { ok: true, layered, mounted: mounts.map((path) => layered.indexOf(path)) };
}

/**
 * Prepares a command's output for an answer: masks its secrets, and adds the path of the whole
 * output.
 */
function outputOf({ kept, ...shown }: ShownOutput, show: (text: string) => string): RunResult['output'] {
  const tail = shown.tail === undefined ? {} : { tail: show(shown.tail) };
  const path = kept === undefined ? {} : { path: outputPath(kept) };
  return { ...shown, head: show(shown.head), ...tail, ...path };
}

function noSandbox(reason: string): Refusal {
  return { code: 'NO_SANDBOX', action: 'run', path: '', next: 'ask_human', detail: { reason } };
}

async function noLayer({ store }: World, change: string): Promise<Refusal> {
  const [committed] = await store.entries({ change, kinds: ['change'], limit: 1 });
  const reason =
    committed === undefined
      ? `no writes of a command are kept under ${change}; kept writes are removed after 7 days`
      : `change ${change} was committed already; lookfirst undo ${change} takes it back`;
  return { code: 'NOT_FOUND', action: 'run', path: '', next: 'none', detail: { reason } };
}

/**
 * Limits of the search for folders that commands change in place, without an overlay layer. They
 * are high enough for the packages of a monorepo, yet bound the search in large trees.
 */
const MAX_DEPTH = 4;
const MAX_FOLDERS = 3000;

/**
 * Folders that commands change in place, without an overlay layer: real folders (not links) that
 * match the policy's list and that git ignores.
 */
async function scratchFolders(world: World): Promise<readonly ResolvedPath[]> {
  const { scratch } = world.policy.commands;
  if (scratch.length === 0) return [];
  const globs = scratch.map(policyGlobMatcher);
  const matches: PathMatch = (path) => globs.some((glob) => glob(path));
  const found: ResolvedPath[] = [];
  for (const root of world.workspace.roots) {
    if (repositoryAround(root) === undefined) continue;
    const candidates = candidatesIn(world, root, matches);
    const ignored = await ignoredByGit(
      root,
      candidates.map(({ relative }) => relative),
    );
    found.push(...candidates.filter(({ relative }) => ignored.has(relative)));
  }
  return found;
}

function candidatesIn(world: World, root: string, matches: PathMatch): ResolvedPath[] {
  const search = ({ exists, place }: Located): ResolvedPath[] =>
    exists ? matchingFolders(world, place, matches) : [];
  return world.workspace.atOnce({ path: root, action: 'run' }, search, () => []);
}

function matchingFolders({ workspace }: World, place: Place, matches: PathMatch): ResolvedPath[] {
  const found: ResolvedPath[] = [];
  let left = MAX_FOLDERS;
  const hasFolders = subfolderTest(place.dir);
  const search = (dir: PinnedDirectory, path: ResolvedPath, depth: number): void => {
    for (const { name, kind } of listUnsorted(dir)) {
      if (kind !== 'directory' || name === '.git' || left <= 0) continue;
      left -= 1;
      const child = workspace.child(path, name);
      if (matches(child.relative)) found.push(child);
      else if (depth < MAX_DEPTH && hasFolders(dir, name))
        within(dir, name, (inner) => search(inner, child, depth + 1));
    }
  };
  search(place.dir, place.path, 1);
  return found;
}

/** Runs `work` in a subfolder. Skips a folder that is gone or became a link meanwhile. */
function within(dir: PinnedDirectory, name: string, work: (inner: PinnedDirectory) => void): void {
  let inner: PinnedDirectory;
  try {
    inner = dir.enter(name);
  } catch {
    return;
  }
  try {
    work(inner);
  } finally {
    inner.close();
  }
}
