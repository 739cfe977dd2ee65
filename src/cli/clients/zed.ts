import { bearer, type Client, joined, settingsDir, xdgDir } from './client.ts';

/** Its file holds all of the editor's settings, with comments. */
export const ZED: Client = {
  name: 'zed',
  title: 'Zed',
  format: 'json',
  servers: 'context_servers',
  defaultScope: 'project',
  files: (scope, places) => {
    if (scope === 'project') return [joined(places, places.project, '.zed', 'settings.json')];
    return places.platform === 'win32'
      ? [joined(places, settingsDir(places), 'Zed', 'settings.json')]
      : [joined(places, xdgDir(places), 'zed', 'settings.json')];
  },
  projectDir: undefined,
  // Older versions want to be told that this is no extension; newer ones do not mind.
  entry: ({ command, args }) => ({ source: 'custom', command, args }),
  remote: ({ url, token }) => ({ url, headers: bearer(token) }),
  next: 'Zed starts the server when the file is saved; the Agent panel shows it.',
};
