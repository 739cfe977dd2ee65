import { HOOK_SHAPE } from '../../config/hook-flags.ts';
import { Fault } from '../../model/fault.ts';
import { type CliCommand, defineCommand } from '../cli.ts';

/** The help of `lookfirst hook`. `main` answers the calls themselves without the command line. */
export const HOOK: CliCommand = defineCommand({
  about:
    "Answers one hook call: reads a client's event as JSON from stdin and prints the answer that client obeys.",
  ...HOOK_SHAPE,
  outputFlags: {},
  notes: `
stdout carries only the answer to the client. lookfirst init CLIENT --hooks configures these calls.

Example:
  lookfirst hook claude-code --event PreToolUse < event.json`,
  run: () => Promise.reject(new Fault('MISUSE', 'main answers hook calls')),
});
