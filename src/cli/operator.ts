import { Records } from '../records/records.ts';
import { placesOf, sessionVariable } from '../session/configured.ts';
import type { Cli, ExitCode } from './cli.ts';
import { refuseCommand } from './refusal-text.ts';

/** Variables that coding agents set for the commands they run. */
const AGENT_VARIABLES = [
  'CLAUDECODE',
  'CLAUDE_CODE_SESSION_ID',
  'CODEX_SANDBOX',
  'CODEX_THREAD_ID',
  'CURSOR_AGENT',
  'GEMINI_CLI',
  'OPENCODE',
] as const;

/** Variables in which an agent's host names the agent's session. */
const HOST_SESSION_VARIABLES = ['CLAUDE_CODE_SESSION_ID', 'CODEX_THREAD_ID'] as const;

/**
 * Refuses a command that only the user may run, if an agent started it, and journals the attempt.
 * Returns the exit code of the refusal, or undefined if the command may continue.
 */
export async function refuseAgent(cli: Cli, command: string): Promise<ExitCode | undefined> {
  const variable = startedByAgent(cli);
  if (variable === undefined) return undefined;
  return refuse(cli, `${command} is for the user, and an agent started it (${variable} is set)`);
}

/**
 * The sessions whose changes a command may take back. For a user, these are all sessions. For an
 * agent, these are its own session and those of its sub-agents.
 */
export interface Reach {
  /** True if a user started the command. */
  readonly all: boolean;
  /** The agent's session; undefined if a user started the command, or if the agent's session is not known. */
  readonly session: string | undefined;
  includes(session: string): boolean;
}

/** The sessions whose changes this command may take back. */
export async function reachOf(cli: Cli): Promise<Reach> {
  if (startedByAgent(cli) === undefined) return { all: true, session: undefined, includes: () => true };
  const own = await agentSession(cli);
  return {
    all: false,
    session: own,
    includes: (session) => own !== undefined && (session === own || session.startsWith(`${own}/`)),
  };
}

/**
 * The session of the agent that started the command, from the host's variable. LOOKFIRST_SESSION
 * counts only if that variable is not set, or if the store does not know the session in it.
 * Otherwise an agent could set LOOKFIRST_SESSION to reach another session.
 */
async function agentSession(cli: Cli): Promise<string | undefined> {
  const host = HOST_SESSION_VARIABLES.map((name) => cli.env[name]).find(Boolean);
  const named = sessionVariable(cli);
  if (host === undefined || named === undefined || host === named) return host ?? named;
  const records = await Records.open(placesOf(cli, cli.flags));
  try {
    return (await records.store.session(host)) === undefined ? named : host;
  } finally {
    await records.close();
  }
}

/** Refuses to take back changes beyond the reach of the agent that started the command, and journals the attempt. */
export function refuseBeyond(cli: Cli, command: 'undo' | 'rewind'): Promise<ExitCode> {
  const variable = startedByAgent(cli) ?? '';
  return refuse(cli, `an agent may only ${command} changes of its own session (${variable} is set)`);
}

async function refuse(cli: Cli, reason: string): Promise<ExitCode> {
  const records = await Records.open(placesOf(cli, cli.flags), 'make');
  try {
    await records.noteAttempt({ text: reason, root: cli.cwd, nowMs: cli.nowMs });
  } finally {
    await records.close();
  }
  const hint = 'Nothing was changed. Ask the user to run it in a terminal.';
  return refuseCommand(cli, ['PROTECTED', 'ask_human', reason], hint);
}

/**
 * The name of the variable that shows that an agent started this command. Undefined if there is
 * none, if a user is at a terminal, or if LOOKFIRST_OPERATOR is 1.
 */
export function startedByAgent({ env, terminal }: Cli): string | undefined {
  if (env['LOOKFIRST_OPERATOR'] === '1' || terminal.isInteractive) return undefined;
  return AGENT_VARIABLES.find((name) => env[name] !== undefined && env[name] !== '');
}
