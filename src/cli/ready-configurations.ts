import { CLIENT_NAMES, type Remote } from './clients/client.ts';
import { configurationFor } from './clients/configuration.ts';

/** What to paste into each client's configuration: to connect to a running server, or to start one of its own. */
export function readyConfigurations({ dir, http }: { readonly dir: string; readonly http: Remote }): string {
  const connect = CLIENT_NAMES.map((name) => {
    // A name per client: calls of nameless clients share no memory.
    const named = { ...http, url: `${http.url}/${name}` };
    const text = block(configurationFor(name, { dir, platform: process.platform, http: named }));
    return name === 'codex' ? `${text}\n    # and start Codex with LOOKFIRST_TOKEN=${http.token}` : text;
  });
  const start = configurationFor('claude-desktop', { dir, platform: process.platform });
  const windows = configurationFor('claude-desktop', { dir: 'C:\\path\\to\\project', platform: 'win32' });
  return [
    'ready to paste, to connect to this server while it runs:',
    ...connect,
    'or to let a client start its own, without HTTP and token (the same shape for all of them):',
    block(start),
    'on Windows:',
    block(windows),
    'lookfirst init CLIENT does it for you, and lookfirst remove CLIENT takes it back. Press Ctrl-C to stop.',
  ].join('\n\n');
}

function block({ title, file, text }: ReturnType<typeof configurationFor>): string {
  return `${title}, in ${file}\n${text.trimEnd().replace(/^/gm, '    ')}`;
}
