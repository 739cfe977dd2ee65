import { CLIENT_NAMES, type ClientName, type ClientPlaces, joined, type Remote } from './clients/client.ts';
import { CLIENTS } from './clients/clients.ts';
import { newFile } from './clients/config-text.ts';
import { serveLaunch } from './clients/launch.ts';

/** Text that a person can paste into a client's configuration. */
interface ReadyConfiguration {
  readonly title: string;
  /** The file, with `~` or `%APPDATA%` for the user's own folders. */
  readonly file: string;
  readonly language: 'json' | 'toml';
  readonly text: string;
}

/** The text to paste into each client's configuration, to connect to a running server or to start one. */
export function readyConfigurations({ dir, http }: { readonly dir: string; readonly http: Remote }): string {
  const connect = CLIENT_NAMES.map((name) => {
    // Each client gets its own name in the URL, because calls of unnamed clients share no memory.
    const named = { ...http, url: `${http.url}/${name}` };
    const text = block(configurationFor(name, { dir, platform: process.platform, http: named }));
    return name === 'codex' ? `${text}\n    # and start Codex with LOOKFIRST_TOKEN=${http.token}` : text;
  });
  const start = configurationFor('claude-desktop', { dir, platform: process.platform });
  const windows = configurationFor('claude-desktop', { dir: 'C:\\path\\to\\project', platform: 'win32' });
  return [
    'configurations to paste, to connect to this server while it runs:',
    ...connect,
    'or to let a client start its own, without HTTP and token (the same shape for all of them):',
    block(start),
    'on Windows:',
    block(windows),
  ].join('\n\n');
}

function block({ title, file, text }: ReturnType<typeof configurationFor>): string {
  return `${title}, in ${file}\n${text.trimEnd().replace(/^/gm, '    ')}`;
}

/**
 * The configuration for a client, ready to paste. With `http` it connects to a running server, if the client's file
 * can say that; otherwise it starts one on `dir`, which should be a full path.
 */
export function configurationFor(
  name: ClientName,
  options: { readonly dir: string; readonly platform: NodeJS.Platform; readonly http?: Remote },
): ReadyConfiguration {
  const client = CLIENTS[name];
  const { dir, platform, http } = options;
  const remote = http === undefined ? undefined : client.remote(http);
  const [file = ''] = client.files('user', shownPlaces(platform));
  return {
    title: client.title,
    file,
    language: client.format,
    text: newFile(client, remote ?? client.entry(serveLaunch(dir, platform))),
  };
}

function shownPlaces(platform: NodeJS.Platform): ClientPlaces {
  const home = platform === 'win32' ? '%USERPROFILE%' : '~';
  const env = platform === 'win32' ? { APPDATA: '%APPDATA%' } : {};
  return { platform, home, project: joined({ platform }, '.'), env };
}
