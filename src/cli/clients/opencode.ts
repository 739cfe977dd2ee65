import { bearer, type Client, joined, xdgDir } from './client.ts';

export const OPENCODE: Client = {
  name: 'opencode',
  title: 'opencode',
  format: 'json',
  servers: 'mcp',
  defaultScope: 'project',
  files: (scope, places) => {
    const dir = scope === 'user' ? joined(places, xdgDir(places), 'opencode') : places.project;
    return [joined(places, dir, 'opencode.json'), joined(places, dir, 'opencode.jsonc')];
  },
  projectDir: '.',
  entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
  remote: ({ url, token }) => ({ type: 'remote', url, enabled: true, headers: bearer(token) }),
  next: 'Start opencode again.',
};
