import { type Client, joined } from './client.ts';

/** Codex reads a project's file only if the project is trusted. It refuses tokens in the file: they come from the environment. */
export const CODEX: Client = {
  name: 'codex',
  title: 'Codex',
  format: 'toml',
  servers: 'mcp_servers',
  defaultScope: 'user',
  files: (scope, places) => {
    const { home, project, env } = places;
    const dir =
      scope === 'user'
        ? env['CODEX_HOME'] || joined(places, home, '.codex')
        : joined(places, project, '.codex');
    return [joined(places, dir, 'config.toml')];
  },
  projectDir: '.',
  userDir: '.',
  entry: ({ command, args }) => ({ command, args }),
  remote: ({ url }) => ({ url, bearer_token_env_var: 'LOOKFIRST_TOKEN' }),
  next: 'Start Codex again; /mcp shows the server.',
};
