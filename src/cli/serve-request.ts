import { choice, type FlagsOf, several, toggle, UsageError, withDefault, words } from '../config/flags.ts';
import { parseFlags } from '../config/parse-flags.ts';
import { DIALECT_NAMES, type DialectName } from '../dialect/tool.ts';
import { Fault } from '../model/fault.ts';
import type { PresetName } from '../model/policy.ts';
import { type CliCommand, defineCommand } from './cli.ts';
import { httpFlag, OUTPUT_FLAGS, SERVED_SESSION, STATE_FLAGS } from './flags.ts';

/** The request of `lookfirst serve`. */
export interface ServeRequest {
  /** The folders as typed. Without folders, the server uses the client's roots. */
  readonly dir?: readonly string[];
  /** Serve HTTP instead of stdio, on this port or any free one. */
  readonly http?: { readonly port?: number };
  /** With HTTP: print what to paste into each client's configuration. */
  readonly showConfig?: boolean;
  /** With HTTP: allow undo in the viewer even if several machines share the store. */
  readonly allowUndo?: boolean;
  readonly dialect: DialectName;
  readonly session?: string;
  readonly readOnly?: boolean;
  /** The read-only folders as typed. */
  readonly readOnlyRoot?: readonly string[];
  readonly allowCommands?: boolean;
  readonly preset?: PresetName;
  readonly policy?: string;
  readonly store?: string;
  readonly workspace?: string;
  readonly sharedWorkspace?: boolean;
  /** When faults are printed in colour. */
  readonly color: 'auto' | 'always' | 'never';
}

const { policy, preset, store, workspace, sharedWorkspace } = STATE_FLAGS;

const ARGS = {
  dir: words('DIR', "folders to serve (default: the client's roots, else the current folder)"),
} as const;

// The most frequent flags come first: if a mistyped flag is equally similar to two names, the first
// one is suggested.
const FLAGS: FlagsOf<Omit<ServeRequest, 'dir'>> = {
  http: httpFlag('serve HTTP and the viewer on 127.0.0.1 instead of stdio, each with its own token'),
  showConfig: toggle("with --http: print what to paste into each client's configuration"),
  allowUndo: toggle('with --http: allow undo in the viewer even if several machines share the store'),
  dialect: withDefault(choice('NAME', 'names and arguments of the tools', DIALECT_NAMES), 'lookfirst'),
  session: SERVED_SESSION,
  readOnly: toggle('offer no tool that changes files'),
  readOnlyRoot: several('DIR', 'a folder that may be read and not changed (repeatable)'),
  allowCommands: toggle('offer the tool that runs commands, in a sandbox'),
  preset,
  policy,
  store,
  workspace,
  sharedWorkspace,
  color: OUTPUT_FLAGS.color,
};

/** The words of `lookfirst serve`, and its help. `main` runs the server without the command line. */
export const SERVE: CliCommand = defineCommand({
  about: 'Serves the given folders to an MCP client, over stdio or HTTP.',
  args: ARGS,
  flags: FLAGS,
  notes: `
stdout carries only the protocol. The token of --http comes from LOOKFIRST_TOKEN, or is printed.
The word serve may be left out before a folder or an option.

Examples:
  lookfirst serve ~/project
  lookfirst serve . ../library --read-only-root ../library
  lookfirst serve --http 4000 --show-config
  npx -y lookfirst ~/project             in a client's configuration`,
  run: () => Promise.reject(new Fault('MISUSE', 'main runs servers')),
});

/** Reads the arguments after `serve`. Throws `UsageError` for a wrong command line. */
export function parseServe(args: readonly string[]): ServeRequest | 'help' | 'version' {
  const parsed = parseFlags<ServeRequest>(SERVE, args);
  if (parsed.kind !== 'values') return parsed.kind;
  const request = parsed.values;
  if (request.http === undefined && request.showConfig === true)
    throw new UsageError('--show-config needs --http');
  if (request.http === undefined && request.allowUndo === true)
    throw new UsageError('--allow-undo needs --http');
  return request;
}
