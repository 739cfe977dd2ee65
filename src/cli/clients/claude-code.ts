import { bearer, type Client, joined } from './client.ts';

/** Claude Code asks before it uses a project's `.mcp.json` for the first time. */
export const CLAUDE_CODE: Client = {
  name: 'claude-code',
  title: 'Claude Code',
  format: 'json',
  servers: 'mcpServers',
  defaultScope: 'project',
  files: (scope, places) =>
    scope === 'user'
      ? [joined(places, places.home, '.claude.json')]
      : [joined(places, places.project, '.mcp.json')],
  // It starts servers in the folder it was started in.
  projectDir: '.',
  entry: ({ command, args }) => ({ command, args }),
  remote: ({ url, token }) => ({ type: 'http', url, headers: bearer(token) }),
  next: 'Start Claude Code in the project and allow the server; /mcp shows it.',
};
