import { Records } from '../records/records.ts';
import { placesOf, type StateFlags } from '../session/configured.ts';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { tellRefusal } from './refusal-text.ts';

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

/**
 * Refuses a command that is for the operator when an agent started it: an agent's variable is set, and no person is at a
 * terminal. The attempt is journalled. Returns the exit code of the refusal; undefined if the command may go on.
 */
export async function refuseAgent(
  cli: Cli,
  command: string,
  { json, ...flags }: StateFlags & { readonly json?: boolean },
): Promise<ExitCode | undefined> {
  const variable = startedByAgent(cli);
  if (variable === undefined) return undefined;
  const reason = `lookfirst ${command} is for the user, and an agent started it (${variable} is set)`;
  const records = await Records.openOrCreate(placesOf(cli, flags));
  try {
    await records.noteAttempt({ text: reason, root: cli.cwd, nowMs: cli.nowMs });
  } finally {
    await records.close();
  }
  const refusal = {
    code: 'PROTECTED',
    action: 'status',
    path: '',
    next: 'ask_human',
    detail: { reason },
  } as const;
  await tellRefusal(cli, refusal, {
    json,
    hint: 'Nothing was changed. Ask the user to run it in a terminal.',
  });
  return EXIT.refused;
}

/** The agent's variable that is set while no person is at a terminal; undefined if a person started the command. */
export function startedByAgent({ env, terminal }: Cli): string | undefined {
  if (env['LOOKFIRST_OPERATOR'] === '1' || terminal.isInteractive) return undefined;
  return AGENT_VARIABLES.find((name) => env[name] !== undefined && env[name] !== '');
}
