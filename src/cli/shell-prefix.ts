import { spawn } from 'node:child_process';
import { HOSTS } from '../dialect/calls/hosts/hosts.ts';
import { shellLine } from '../dialect/calls/shell/shell-line.ts';
import { COMMAND_LINE } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { RunResult } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { endedWords } from '../report/command-words.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import { type AnnouncedShell, announcedShell, commandRoot } from '../session/command-places.ts';
import {
  openWorkspace,
  placesOf,
  policyOf,
  type StateFlags,
  sessionVariable,
} from '../session/configured.ts';
import type { GatedSession } from '../session/gated-session.ts';
import type { Sessions } from '../session/sessions.ts';
import { type Cli, EXIT } from './cli.ts';

/**
 * Shell lines that hide `NODE_EXTRA_CA_CERTS` from Node, because reading the certificates takes
 * longer than the rest of its start. The lines do nothing for a Postgres store, which needs the
 * certificates for TLS. `bin.ts` restores the variable for child processes.
 */
export const WITHOUT_CERTIFICATES = `  case "$NODE_EXTRA_CA_CERTS:$LOOKFIRST_STORE $*" in
    :* | *:postgres* | *--store*) ;;
    *) export LOOKFIRST_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"; unset NODE_EXTRA_CA_CERTS ;;
  esac`;

/**
 * The script for `CLAUDE_CODE_SHELL_PREFIX`. Claude Code starts it with a whole shell line as its
 * argument. Lines of the Bash tool contain `pwd -P`; they run on a layer, a copy-on-write view of
 * the workspace. Other lines run unchanged. `self`: the shell words that start this program.
 */
export function shellPrefixScript(self: readonly string[], home?: string): string {
  const program = self.join(' ');
  const checks = self.map((word) => `[ -e ${word} ]`).join(' && ');
  return `#!/bin/sh
# Written by Lookfirst. Runs the lines of Claude Code's Bash tool on a layer, so that their changes can be undone.
case \${1-} in
  *'pwd -P >| '*) ;;
  *) exec "\${SHELL:-/bin/sh}" -c "\${1-}" ;;
esac
if ${checks}; then
${WITHOUT_CERTIFICATES}${home === undefined ? '' : usingHome(home)}
  exec ${program} run --prefix "$1"
fi
echo 'lookfirst: not found any more; this command runs without undo. Remove CLAUDE_CODE_SHELL_PREFIX from the settings.' >&2
exec "\${SHELL:-/bin/sh}" -c "$1"
`;
}

/**
 * Shell lines that make `lookfirst run` use the state folder `home`. They set LOOKFIRST_HOME only
 * if `home` is not the default folder and the variable is not set yet.
 */
function usingHome(home: string): string {
  return `
  home=${quotedWord(home)}
  [ "\${XDG_STATE_HOME:-$HOME/.local/state}/lookfirst" = "$home" ] || export LOOKFIRST_HOME="\${LOOKFIRST_HOME:-$home}"`;
}

/** Quotes a word, so that the shell takes it literally. */
export function quotedWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Runs one line of Claude Code's shell on a layer (a copy-on-write view of the workspace). A
 * background command runs without a layer, because the layer would hide its writes. If no layer can
 * be made, the line runs without one, with a message for the user.
 */
export async function runShellLine(cli: Cli, line: string, flags: StateFlags): Promise<number> {
  let prepared: Prepared | AnnouncedShell | undefined;
  try {
    prepared = await prepare(cli, line, flags);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    cli.terminal.tell(`lookfirst: this command cannot be undone: ${error.message} [${error.code}]`);
  }
  if (prepared === undefined) return runPlainly(cli, line);
  if (!('sessions' in prepared)) return runInBackground(cli, { line, flags, announced: prepared });
  try {
    return await runOnLayer(cli, line, prepared);
  } finally {
    await prepared.sessions.close();
  }
}

/**
 * An open session that can run a shell line on a layer (a copy-on-write view of the workspace).
 * `announced`: the hook's record of the command; undefined if no hook recorded it.
 */
interface Prepared {
  readonly sessions: Sessions;
  readonly session: GatedSession;
  readonly announced: AnnouncedShell | undefined;
}

/**
 * Opens a session that can run a shell line on a layer (a copy-on-write view of the workspace). For
 * a background command, returns the hook's record of the command instead. Undefined if the line
 * must run without a layer: the policy says so, it leaves processes running, there is no sandbox, or
 * `MAX_CLAIMS` attempts failed.
 */
async function prepare(
  cli: Cli,
  line: string,
  flags: StateFlags,
): Promise<Prepared | AnnouncedShell | undefined> {
  if (policyOf(cli, flags).hooks.shell === 'images') return undefined;
  const conversation = sessionVariable(cli) || cli.env['CLAUDE_CODE_SESSION_ID'] || COMMAND_LINE;
  for (let tries = 0; tries < MAX_CLAIMS; tries += 1) {
    const announced = await announcedShell(placesOf(cli, flags), { conversation, line });
    if (announced?.layer === 'background') return announced;
    // On a layer, processes that the line leaves running would end with it. The hook records what
    // the line itself changed.
    if (announced === undefined ? shellLine(line).leavesProcesses : announced.layer === 'never')
      return undefined;
    const claimed = await claim(cli, flags, { conversation, announced });
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
 * sandbox.
 */
async function claim(
  cli: Cli,
  flags: StateFlags,
  { conversation, announced }: { conversation: string; announced: AnnouncedShell | undefined },
): Promise<Prepared | 'taken' | undefined> {
  const sessions = await openWorkspace(cli, flags, [announced?.root ?? commandRoot(cli)]);
  let canRun = false;
  try {
    canRun = (await sessions.world.processes.probe()).ok;
    if (canRun) {
      const session = await sessions.session(announced?.session ?? conversation);
      if (announced?.turn !== undefined) await session.beginTurn({ turn: announced.turn });
      const isOurs = announced === undefined || (await session.moveCommand(announced.change, 'layer'));
      if (isOurs) return { sessions, session, announced };
    }
  } catch (error) {
    await sessions.close();
    throw error;
  }
  await sessions.close();
  return canRun ? 'taken' : undefined;
}

/**
 * Runs a background command and records its changes when it ends. The client's hooks report only
 * its start.
 */
async function runInBackground(
  cli: Cli,
  { line, flags, announced }: { line: string; flags: StateFlags; announced: AnnouncedShell },
): Promise<number> {
  const code = await runPlainly(cli, line);
  try {
    const sessions = await openWorkspace(cli, flags, [announced.root]);
    try {
      const session = await sessions.session(announced.session);
      await session.settle(announced.change, 'done');
    } finally {
      await sessions.close();
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    cli.terminal.tell(`lookfirst: this command cannot be undone: ${error.message} [${error.code}]`);
  }
  return code;
}

async function runOnLayer(
  cli: Cli,
  line: string,
  { sessions, session, announced }: Prepared,
): Promise<number> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on('SIGINT', end).on('SIGTERM', end);
  try {
    if (announced === undefined)
      await session.forHost().note('a shell command ran on a layer without being judged before');
    const by = announced === undefined ? 'agent' : 'hook';
    const outcome = await session.runBy(by, [shellOf(cli), '-c', line], {
      profile: 'undo',
      output: 'inherit',
      answer: 'silent',
      title: announced?.command,
      cwd: cli.cwd,
      signal: ending.signal,
    });
    if (outcome.ok) return exitCodeOf(cli, outcome);
    if (outcome.refusal.code === 'NO_SANDBOX') {
      // Let the hook record the changes: no layer will be committed.
      if (announced !== undefined) await session.moveCommand(announced.change, 'workspace');
      return await runPlainly(cli, line);
    }
    cli.terminal.tell(refusalText(cli, sessions, outcome.refusal));
    return EXIT.refused;
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
  }
}

/** The text of a refusal, which the model reads as the output of its command. */
function refusalText({ nowMs }: Cli, { world }: Sessions, refusal: Refusal): string {
  const words = HOSTS.find(({ id }) => id === 'claude-code')?.words;
  const text = explain(refusal, {
    nowMs,
    wording: world.policy.wording,
    ...(words === undefined ? {} : { tools: words }),
  });
  return `lookfirst: none of this command’s writes were committed.\n${text}`;
}

/** The exit code of an interrupted shell. */
const INTERRUPTED = 130;

function exitCodeOf({ terminal }: Cli, { ended, exitCode, endedProcesses, notices }: RunResult): number {
  for (const notice of notices) terminal.tell(`lookfirst: ${describeNotice(notice)}`);
  for (const sentence of endedWords({ endedProcesses })) {
    const cure = 'A process keeps running if you start it with & or in the background.';
    terminal.tell(`lookfirst: ${sentence} ${cure}`);
  }
  if (ended === undefined) return exitCode ?? EXIT.done;
  terminal.tell('lookfirst: the command was stopped, and none of its changes were committed');
  return INTERRUPTED;
}

function shellOf({ env }: Cli): string {
  return env['SHELL'] || '/bin/sh';
}

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Shells report that a signal ended a command as the exit code 128 plus this number. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/** Runs a line as Claude Code would without us. */
function runPlainly(cli: Cli, line: string): Promise<number> {
  const child = spawn(shellOf(cli), ['-c', line], { cwd: cli.cwd, stdio: 'inherit' });
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of PASSED_ON) process.on(signal, passOn);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      for (const each of PASSED_ON) process.off(each, passOn);
      resolve(code ?? 128 + (SIGNAL_NUMBERS[signal ?? ''] ?? 0));
    });
  });
}
