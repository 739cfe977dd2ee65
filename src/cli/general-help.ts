import { COMMANDS } from './command-list.ts';

/** What `lookfirst --help` says. */
export function generalHelp(): string {
  const width = Math.max(...COMMANDS.map(({ usage }) => usage.length));
  const commands = COMMANDS.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`);
  return [
    'Usage: lookfirst COMMAND [options]',
    '',
    'The one way an AI agent touches files: it changes only what it has seen and what still is',
    'as it saw it, never leaves the workspace, and can undo every change.',
    '',
    'Commands:',
    ...commands,
    '',
    'lookfirst COMMAND --help shows the options of a command and examples.',
    '',
    'Environment: LOOKFIRST_HOME (state folder), LOOKFIRST_SESSION, LOOKFIRST_STORE, LOOKFIRST_TOKEN.',
    'Flags win over the environment, the environment over the policy file.',
    'Exit codes: 0 done, 1 fault, 2 refused, 64 usage.',
  ].join('\n');
}
