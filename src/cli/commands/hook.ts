import { Argument, Command, Option } from 'commander';
import { PRESET_NAMES } from '../../model/policy.ts';

const HOSTS = ['claude-code', 'codex', 'gemini', 'cursor', 'vscode', 'opencode', 'generic'];

/** The help of `lookfirst hook`. The hook itself loads no help and no argument parser: a client waits for it. */
export function defineHook(): Command {
  return new Command('lookfirst hook')
    .description(
      'Answers one hook call: reads the event of a client as JSON from stdin and prints the answer that this client obeys.',
    )
    .addArgument(new Argument('<client>', 'the client').choices(HOSTS))
    .option('--event <name>', 'the event, as the client names it')
    .option('--root <dir>', "the workspace (repeatable; default: the client's project folder)")
    .option('--session <id>', "use this session instead of the client's")
    .option('--fail-open', 'let calls pass when Lookfirst itself fails (default: deny changes and commands)')
    .addOption(new Option('--preset <name>', 'start from this preset').choices(PRESET_NAMES))
    .option('--policy <file>', 'policy file (default: lookfirst.json in the state folder)')
    .option('--store <url>', 'memory:, sqlite:/absolute/file.db or postgres://… (LOOKFIRST_STORE)')
    .addHelpText('after', EXAMPLES);
}

const EXAMPLES = `
stdout belongs to the client. lookfirst init CLIENT --hooks configures these calls.

Example:
  lookfirst hook claude-code --event PreToolUse < event.json`;
