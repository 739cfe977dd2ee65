import { bearer, type Client, joined, settingsDir } from './client.ts';

/** Comments are allowed in its files. */
export const VSCODE: Client = {
  name: 'vscode',
  title: 'VS Code',
  format: 'json',
  servers: 'servers',
  defaultScope: 'project',
  files: (scope, places) =>
    scope === 'user'
      ? [joined(places, settingsDir(places), 'Code', 'User', 'mcp.json')]
      : [joined(places, places.project, '.vscode', 'mcp.json')],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code's own variable.
  projectDir: '${workspaceFolder}',
  entry: ({ command, args }) => ({ type: 'stdio', command, args }),
  remote: ({ url, token }) => ({ type: 'http', url, headers: bearer(token) }),
  next: 'Start the server from the file itself or with "MCP: List Servers".',
};
