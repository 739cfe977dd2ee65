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

/** The options of the viewer without a server, as the command line prepares them. */
export interface OpenViewerOptions {
  readonly place: RecordsPlace;
  /** The workspaces in, around and below these folders are shown. */
  readonly folders: readonly string[];
  readonly secrets: Policy['secrets'];
  readonly openWorkspace: ApiOptions['openWorkspace'];
  readonly readOnly: string | undefined;
  /** The port; 0 means any free port. */
  readonly port: number;
  readonly log: (line: string) => void;
  /** The emitter of SIGINT, SIGTERM and SIGHUP, normally `process`. */
  readonly signals: EventEmitter;
  /** Called when the page can be opened. `once` creates an address that works once. */
  readonly listening: (address: { readonly url: string; once(): string }) => void;
}

/** Serves the viewer until a signal arrives. */
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

/** The viewer beside a server that already has the workspace open. It has its own token. */
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
    // The user id has no entry in the system's list of users.
    return '';
  }
}
