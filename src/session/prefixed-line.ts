import { HOSTS } from '../dialect/calls/hosts/hosts.ts';
import { shellLine } from '../dialect/calls/shell/shell-line.ts';
import { COMMAND_LINE } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { RunResult } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Elsewhere } from '../process/run-elsewhere.ts';
import { endedWords } from '../report/command-words.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import { isTagAlive, tagOfProcess } from '../store/owner.ts';
import { type AnnouncedShell, announcedShell, commandRoot } from './command-places.ts';
import { type ConfigSources, placesOf, policyOf, type StateFlags, sessionVariable } from './configured.ts';
import type { GatedSession } from './gated-session.ts';
import type { Sessions } from './sessions.ts';

/** A line of Claude Code's shell, and the program that runs it for the client. */
interface PrefixedLine {
  readonly line: string;
  readonly around: ConfigSources;
  readonly flags: StateFlags;
  readonly runner: LineRunner;
}

/** Runs the programs of a line: this process, or a shell script that calls the resident process. */
export interface LineRunner {
  /** Opens the workspace with this root. */
  open(root: string): Promise<OpenedWorkspace>;
  /** Runs the line as the client would without Lookfirst, and resolves with its exit code. */
  plainly(after: 'nothing' | 'settle'): Promise<number>;
  /** Aborts when the client stops the line. */
  readonly signal?: AbortSignal;
  /** Set if a shell script starts the sandbox. */
  readonly elsewhere?: Omit<Elsewhere, 'title'>;
  /** Prints a message that the model reads as the output of its command. */
  tell(text: string): void;
}

export interface OpenedWorkspace {
  readonly sessions: Sessions;
  release(): Promise<void>;
}

/**
 * Runs one line of Claude Code's shell on a layer (a copy-on-write view of the workspace), and
 * resolves with its exit code. A background command runs without a layer, because the layer would
 * hide its writes. If no layer can be made, the line runs without one, with a message.
 */
export async function runPrefixedLine(asked: PrefixedLine): Promise<number> {
  const { runner } = asked;
  let prepared: Prepared | AnnouncedShell | undefined;
  try {
    prepared = await prepare(asked);
  } catch (error) {
    tellFault(asked, error);
  }
  if (prepared === undefined) return runner.plainly('nothing');
  if (!('opened' in prepared)) return runInBackground(asked, prepared);
  try {
    return await runOnLayer(asked, prepared);
  } finally {
    await prepared.opened.release();
  }
}

function tellFault({ runner }: PrefixedLine, error: unknown): void {
  if (!(error instanceof Fault)) throw error;
  runner.tell(`lookfirst: this command cannot be undone: ${error.message} [${error.code}]`);
}

/**
 * An open session that can run a shell line on a layer (a copy-on-write view of the workspace).
 * `announced`: the hook's record of the command; undefined if no hook recorded it.
 */
interface Prepared {
  readonly opened: OpenedWorkspace;
  readonly session: GatedSession;
  readonly announced: AnnouncedShell | undefined;
}

/**
 * Opens a session that can run a shell line on a layer (a copy-on-write view of the workspace). For
 * a background command, returns the hook's record of the command instead. Undefined if the line
 * must run without a layer: the policy says so, it leaves processes running, there is no sandbox, or
 * `MAX_CLAIMS` attempts failed.
 */
async function prepare({
  line,
  around,
  flags,
  runner,
}: PrefixedLine): Promise<Prepared | AnnouncedShell | undefined> {
  if (policyOf(around, flags).hooks.shell === 'images') return undefined;
  const conversation = sessionVariable(around) || around.env['CLAUDE_CODE_SESSION_ID'] || COMMAND_LINE;
  for (let tries = 0; tries < MAX_CLAIMS; tries += 1) {
    const announced = await announcedShell(placesOf(around, flags), { conversation, line });
    if (announced?.layer === 'background') return announced;
    // On a layer, processes that the line leaves running would end with it. The hook records what
    // the line itself changed.
    if (announced === undefined ? shellLine(line).leavesProcesses : announced.layer === 'never')
      return undefined;
    const opened = await runner.open(announced?.root ?? commandRoot(around));
    const claimed = await claim(opened, { conversation, announced });
    if (claimed !== 'taken') return claimed;
  }
  return undefined;
}

/**
 * Maximum number of attempts to take a hook's record of this command. An attempt fails if another
 * process, which runs an equal command at the same time, takes the record first.
 */
const MAX_CLAIMS = 20;

/**
 * Opens the session of a command and takes the hook's record of the command, so that no other
 * process takes it. `taken`: another process has already taken it. Undefined if this machine has no
 * sandbox. In both cases, and after an error, the workspace is released.
 */
async function claim(
  opened: OpenedWorkspace,
  { conversation, announced }: { conversation: string; announced: AnnouncedShell | undefined },
): Promise<Prepared | 'taken' | undefined> {
  const { sessions, release } = opened;
  let canRun = false;
  try {
    canRun = (await sessions.world.processes.probe()).ok;
    if (canRun) {
      const session = await sessions.session(announced?.session ?? conversation);
      if (announced?.turn !== undefined) await session.beginTurn({ turn: announced.turn });
      const isOurs = announced === undefined || (await session.moveCommand(announced.change, 'layer'));
      if (isOurs) return { opened, session, announced };
    }
  } catch (error) {
    await release();
    throw error;
  }
  await release();
  return canRun ? 'taken' : undefined;
}

/**
 * Runs a background command and records its changes when it ends. The client's hooks report only
 * its start.
 */
async function runInBackground(asked: PrefixedLine, announced: AnnouncedShell): Promise<number> {
  const code = await asked.runner.plainly('settle');
  try {
    const { sessions, release } = await asked.runner.open(announced.root);
    try {
      await (await sessions.session(announced.session)).settle(announced.change, 'done');
    } finally {
      await release();
    }
  } catch (error) {
    tellFault(asked, error);
  }
  return code;
}

/** Exit codes of a line that was not committed: refused, or stopped like an interrupted shell. */
const REFUSED = 2;
const INTERRUPTED = 130;

async function runOnLayer(
  { line, around, runner }: PrefixedLine,
  { opened, session, announced }: Prepared,
): Promise<number> {
  if (announced === undefined)
    await session.forHost().note('a shell command ran on a layer without being judged before');
  const by = announced === undefined ? 'agent' : 'hook';
  const options = {
    profile: 'undo',
    output: 'inherit',
    answer: 'silent',
    title: announced?.command,
    cwd: around.cwd,
    signal: runner.signal,
  } as const;
  const command = [around.env['SHELL'] || '/bin/sh', '-c', line];
  const outcome = await session.runBy(by, command, options, runner.elsewhere);
  if (outcome.ok) return exitCodeOf(outcome, runner.tell);
  if (outcome.refusal.code === 'NO_SANDBOX') {
    // Let the hook record the changes: no layer will be committed.
    if (announced !== undefined) await session.moveCommand(announced.change, 'workspace');
    return runner.plainly('nothing');
  }
  runner.tell(refusalText(opened.sessions, outcome.refusal));
  return REFUSED;
}

/** The text of a refusal, which the model reads as the output of its command. */
function refusalText({ world }: Sessions, refusal: Refusal): string {
  const words = HOSTS.find(({ id }) => id === 'claude-code')?.words;
  const text = explain(refusal, {
    nowMs: world.now(),
    wording: world.policy.preset,
    ...(words === undefined ? {} : { tools: words }),
  });
  return `lookfirst: none of this command’s writes were committed.\n${text}`;
}

function exitCodeOf(
  { ended, exitCode, endedProcesses, notices }: RunResult,
  tell: LineRunner['tell'],
): number {
  for (const notice of notices) tell(`lookfirst: ${describeNotice(notice)}`);
  for (const sentence of endedWords({ endedProcesses })) {
    const cure = 'A process keeps running if you start it with & or in the background.';
    tell(`lookfirst: ${sentence} ${cure}`);
  }
  if (ended === undefined) return exitCode ?? 0;
  tell('lookfirst: the command was stopped, and none of its changes were committed');
  return INTERRUPTED;
}

/** The process of a script that runs a line. */
export interface ScriptOwner {
  /** Identifies the process as the owner of a layer. */
  readonly tag: string;
  isAlive(): boolean;
}

/** The process with this id. Undefined if it does not run a script with this line as its argument. */
export function scriptOwner(pid: string, line: string): ScriptOwner | undefined {
  const tag = tagOfProcess(pid, line);
  return tag === undefined ? undefined : { tag, isAlive: () => isTagAlive(tag) };
}
