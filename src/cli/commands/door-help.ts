import { Argument, Command, Option } from 'commander';
import { DIALECT_NAMES } from '../../dialect/tool.ts';
import { PRESET_NAMES } from '../../model/policy.ts';
import { colourOption } from '../conventions.ts';

/** The help of `lookfirst serve`. The server itself reads its arguments without a library; see `parseServe`. */
export function defineServe(): Command {
  return new Command('lookfirst serve')
    .description('Serves the given folders to an MCP client, over stdio or HTTP.')
    .addArgument(
      new Argument('[dir...]', "folders to serve (default: the client's roots, else the current folder)"),
    )
    .option(
      '--http [port]',
      'serve HTTP and the viewer on 127.0.0.1 instead of stdio, each with its own token',
    )
    .option('--show-config', "with --http: print what to paste into each client's configuration")
    .option('--allow-undo', 'with --http: allow undo in the viewer even if several machines share the store')
    .addOption(
      new Option('--dialect <name>', 'names and arguments of the tools')
        .choices(DIALECT_NAMES)
        .default('lookfirst'),
    )
    .option('--session <id>', 'the session for calls that name none (LOOKFIRST_SESSION)')
    .option('--read-only', 'offer no tool that changes files')
    .option('--read-only-root <dir>', 'a folder that may be read and not changed (repeatable)')
    .option('--allow-commands', 'offer the tool that runs commands, in a sandbox')
    .addOption(new Option('--preset <name>', 'start from this preset').choices(PRESET_NAMES))
    .addOption(colourOption())
    .option('--policy <file>', 'policy file (default: lookfirst.json in the state folder)')
    .option('--store <url>', 'memory:, sqlite:/absolute/file.db or postgres://… (LOOKFIRST_STORE)')
    .option('--workspace <name>', 'with postgres: the name of this workspace on every machine')
    .option('--shared-workspace', 'with postgres: other machines write to these folders too')
    .addHelpText('after', SERVE_EXAMPLES);
}

const SERVE_EXAMPLES = `
stdout carries only the protocol. The token of --http comes from LOOKFIRST_TOKEN, or is printed.
The word serve may be left out before a folder or an option.

Examples:
  lookfirst serve ~/project
  lookfirst serve . ../library --read-only-root ../library
  lookfirst serve --http 4000 --show-config
  npx -y lookfirst ~/project             in a client's configuration`;

const HOSTS = ['claude-code', 'codex', 'gemini', 'cursor', 'vscode', 'opencode', 'generic'];

/**
 * The help of `lookfirst hook`. The hook itself loads no help and no argument parser, because a
 * client waits for its answer.
 */
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
    .addHelpText('after', HOOK_EXAMPLES);
}

const HOOK_EXAMPLES = `
stdout carries only the answer for the client. lookfirst init CLIENT --hooks configures these calls.

Example:
  lookfirst hook claude-code --event PreToolUse < event.json`;
