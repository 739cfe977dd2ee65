import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import { userInfo } from 'node:os';
import type { Policy } from '../model/policy.ts';
import { Records, type RecordsPlace } from '../records/records.ts';
import { Scope } from '../records/scope.ts';
import type { Sessions } from '../session/sessions.ts';
import { newToken } from '../wire/bearer.ts';
import { EndSignals } from '../wire/end-signals.ts';
import type { ApiOptions } from './api.ts';
import { serveViewer, viewerListener, viewerUrl } from './serve-viewer.ts';

/** The viewer alone, as the command line plans it. */
export interface OpenViewerOptions {
  readonly place: RecordsPlace;
  /** The workspaces in, around and below these folders are shown. */
  readonly folders: readonly string[];
  readonly secrets: Policy['secrets'];
  readonly openWorkspace: ApiOptions['openWorkspace'];
  readonly readOnly: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  readonly log: (line: string) => void;
  /** Emits SIGINT, SIGTERM and SIGHUP: `process`. */
  readonly signals: EventEmitter;
  /** Called once the page can be opened. `once` makes an address that works once. */
  readonly listening: (address: { readonly url: string; once(): string }) => void;
}

/** Serves the viewer until a signal comes. */
export async function openViewer(options: OpenViewerOptions): Promise<void> {
  const { place, folders, secrets, port, log, readOnly, openWorkspace } = options;
  const records = await Records.openOrCreate(place);
  try {
    const scope = new Scope({ cwd: folders[0] ?? '.', root: folders });
    const viewing = { records, scope, secrets };
    const common = { folders, openWorkspace, readOnly, who: viewerSession(), log };
    const server = await serveViewer({ ...common, viewing, token: newToken(), port });
    const signals = new EndSignals(options.signals);
    options.listening(server);
    await signals.first;
    signals.close();
    await server.close();
  } finally {
    await records.close();
  }
}

/** The viewer beside a server that has the workspace open already. Its token is its own. */
export function viewerBeside(
  sessions: Sessions,
  { log, readOnly }: { readonly log: (line: string) => void; readonly readOnly: string | undefined },
): { readonly listener: RequestListener; readonly url: (port: number) => string } {
  const { store, images, workspace, policy } = sessions.world;
  const folders = workspace.roots;
  const token = newToken();
  const scope = new Scope({ cwd: folders[0] ?? '.', root: folders });
  // The server still needs the workspace after the undo.
  const open = { world: sessions.world, close: async () => {} };
  const listener = viewerListener({
    viewing: { records: Records.over({ store, images }), scope, secrets: policy.secrets },
    folders,
    openWorkspace: async () => open,
    readOnly,
    who: viewerSession(),
    token,
    log,
  });
  return { listener, url: (port) => viewerUrl(port, token) };
}

/** Undos of the viewer are journalled under this name. */
function viewerSession(): string {
  const name = userName().replace(/[^\w.-]/g, '');
  return name === '' ? 'viewer' : `viewer:${name}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the system's list of users.
    return '';
  }
}
