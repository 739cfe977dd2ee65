import { bearer, type Client, joined } from './client.ts';

export const CURSOR: Client = {
  name: 'cursor',
  title: 'Cursor',
  format: 'json',
  servers: 'mcpServers',
  defaultScope: 'project',
  files: (scope, places) => [
    joined(places, scope === 'user' ? places.home : places.project, '.cursor', 'mcp.json'),
  ],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor's own variable.
  projectDir: '${workspaceFolder}',
  entry: ({ command, args }) => ({ command, args }),
  remote: ({ url, token }) => ({ url, headers: bearer(token) }),
  next: 'Switch the server on in Cursor Settings under Tools & MCP.',
};
