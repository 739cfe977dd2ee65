import { delimiter, join } from 'node:path';
import { canonicalPath } from '../../records/scope.ts';
import { CLIENT_NAMES, type ClientName, type ClientPlaces } from './client.ts';
import { CLIENTS } from './clients.ts';

/** The program of each client, as it is found on PATH. Claude Desktop has none. */
const PROGRAMS: Readonly<Partial<Record<ClientName, string>>> = {
  'claude-code': 'claude',
  codex: 'codex',
  gemini: 'gemini',
  cursor: 'cursor',
  vscode: 'code',
  zed: 'zed',
  opencode: 'opencode',
};

/** The clients of this user: their program is on PATH, or their configuration file exists. */
export function detectedClients(places: ClientPlaces): readonly ClientName[] {
  const folders = (places.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return CLIENT_NAMES.filter((name) => {
    const program = PROGRAMS[name];
    const onPath = program === undefined ? [] : folders.map((folder) => join(folder, program));
    return [...onPath, ...CLIENTS[name].files('user', places)].some(
      (path) => canonicalPath('/', path).kind === 'file',
    );
  });
}
