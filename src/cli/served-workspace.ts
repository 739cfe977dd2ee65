import { resolve } from 'node:path';
import { type FlagsOf, several, toggle } from '../config/flags.ts';
import { expandHome } from '../config/home.ts';
import { defined } from '../model/record.ts';
import { harmless } from '../report/bounded.ts';
import { placesOf, policyTextOf, type StateFlags } from '../session/configured.ts';
import { keepPolicyOutOfReach } from '../session/out-of-reach.ts';
import type { Sessions, WorkspaceOptions } from '../session/sessions.ts';
import type { Cli } from './cli.ts';
import { httpFlag, SERVED_SESSION, STATE_FLAGS } from './flags.ts';

interface ServedFlags extends StateFlags {
  readonly http?: { readonly port?: number };
  readonly session?: string;
  readonly readOnlyRoot?: readonly string[];
}

const { dialect: _dialect, ...STATE } = STATE_FLAGS;

/** The flags of the commands that serve a workspace: the server and the proxy. */
export const SERVED_FLAGS: FlagsOf<ServedFlags> = {
  ...STATE,
  http: httpFlag(
    'serve HTTP on 127.0.0.1 instead of stdio; the token comes from LOOKFIRST_TOKEN, or is printed',
  ),
  session: SERVED_SESSION,
  readOnly: toggle('refuse every change'),
  readOnlyRoot: several('DIR', 'a folder that may be read but not changed (repeatable)'),
};

/** A workspace for a server or the proxy, and what to do with it when it is open. */
interface ServedWorkspace {
  readonly workspace: WorkspaceOptions;
  readonly opened: (sessions: Sessions) => void;
}

/** The workspace that the flags describe. */
export function servedWorkspace(
  cli: Cli,
  roots: readonly string[],
  { readOnlyRoot, ...flags }: ServedFlags,
): ServedWorkspace {
  return {
    workspace: {
      roots,
      ...placesOf(cli, flags),
      ...defined({ preset: flags.preset, policyFile: policyTextOf(cli, flags) }),
      ...(flags.readOnly === true ? { policy: { readOnly: true } } : {}),
      ...defined({ readOnlyRoots: readOnlyRoot?.map((dir) => namedFolder(cli, dir)) }),
    },
    opened: (sessions) => {
      if (flags.policy !== undefined) keepPolicyOutOfReach(sessions.world, resolve(cli.cwd, flags.policy));
      for (const warning of sessions.warnings) logTo(cli)(warning);
    },
  };
}

/** The full path of a folder as a client's configuration names it: without a shell, `~` is not expanded. */
export function namedFolder({ cwd, homeFolder }: Cli, folder: string): string {
  return resolve(cwd, expandHome(folder, homeFolder));
}

/** Writes the messages of a server to stderr, because stdout belongs to the protocol. */
export function logTo({ terminal }: Cli): (line: string) => void {
  return (line) => terminal.tell(harmless(`lookfirst: ${line}`));
}
