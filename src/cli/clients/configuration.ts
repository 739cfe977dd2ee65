import { type ClientName, joined, type Places, type Remote } from './client.ts';
import { CLIENTS } from './clients.ts';
import { newFile } from './config-text.ts';
import { serveLaunch } from './launch.ts';

/** Text that a person can paste into a client's configuration. */
export interface ReadyConfiguration {
  readonly title: string;
  /** Where it goes, with `~` or `%APPDATA%` for the person's own folders. */
  readonly file: string;
  readonly language: 'json' | 'toml';
  readonly text: string;
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

function shownPlaces(platform: NodeJS.Platform): Places {
  const home = platform === 'win32' ? '%USERPROFILE%' : '~';
  const env = platform === 'win32' ? { APPDATA: '%APPDATA%' } : {};
  return { platform, home, project: joined({ platform }, '.'), env };
}
