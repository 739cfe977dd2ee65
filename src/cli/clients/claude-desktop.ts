import { type Client, joined, settingsDir } from './client.ts';

/** One file for the person; servers on this machine are started, not connected to. */
export const CLAUDE_DESKTOP: Client = {
  name: 'claude-desktop',
  title: 'Claude Desktop',
  format: 'json',
  servers: 'mcpServers',
  defaultScope: 'user',
  files: (scope, places) =>
    scope === 'user' ? [joined(places, settingsDir(places), 'Claude', 'claude_desktop_config.json')] : [],
  projectDir: undefined,
  entry: ({ command, args }) => ({ command, args }),
  remote: () => undefined,
  next: 'Quit Claude Desktop and start it again.',
};
