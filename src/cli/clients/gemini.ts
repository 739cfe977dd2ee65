import { bearer, type Client, joined } from './client.ts';

export const GEMINI: Client = {
  name: 'gemini',
  title: 'Gemini CLI',
  format: 'json',
  servers: 'mcpServers',
  defaultScope: 'project',
  files: (scope, places) => [
    joined(places, scope === 'user' ? places.home : places.project, '.gemini', 'settings.json'),
  ],
  projectDir: '.',
  entry: ({ command, args }) => ({ command, args }),
  remote: ({ url, token }) => ({ httpUrl: url, headers: bearer(token) }),
  next: 'Start Gemini CLI again; /mcp shows the server.',
};
