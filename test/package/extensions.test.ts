import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { ClientName } from '../../src/cli/clients/client.ts';
import { HOOK_SETTINGS } from '../../src/cli/clients/hook-settings.ts';
import { scratch } from '../support/tree.ts';

const packaging = fileURLToPath(new URL('../../packaging', import.meta.url));
const { version } = JSON.parse(readFileSync(join(packaging, '../package.json'), 'utf8')) as {
  version: string;
};

function jsonAt(...path: readonly string[]): Record<string, unknown> {
  return JSON.parse(readFileSync(join(packaging, ...path), 'utf8')) as Record<string, unknown>;
}

/** The entries that `init --hooks` adds, with the extension's script instead of the one in the state folder. */
function hooksOf(client: ClientName, script: string): string {
  const hooks: Record<string, unknown[]> = {};
  for (const { at, item } of HOOK_SETTINGS[client]?.pieces({ script, plugin: '', shell: '' }) ?? []) {
    const [, event = ''] = at;
    hooks[event] = [...(hooks[event] ?? []), item];
  }
  // The tools of a plugin's server have a longer prefix. Widen the pattern, so that it matches the
  // short and the long prefix.
  return `${JSON.stringify({ hooks }, null, 2)}\n`.replaceAll('mcp__lookfirst__', 'mcp__.*lookfirst__');
}

const FOLDERS = [
  ['claude-code', 'claude-code-plugin', `\${CLAUDE_PLUGIN_ROOT}/bin/lookfirst-hook`],
  ['gemini', 'gemini-extension', `\${extensionPath}/bin/lookfirst-hook`],
] as const;

describe.each(FOLDERS)('%s: packaging/%s', (client, folder, script) => {
  it('has the hooks that init writes', async () => {
    await expect(hooksOf(client, script)).toMatchFileSnapshot(join(packaging, folder, 'hooks/hooks.json'));
  });

  it('has an executable POSIX script', () => {
    const path = join(packaging, folder, 'bin/lookfirst-hook');
    expect(statSync(path).mode & 0o111).toBe(0o111);
    expect(spawnSync('sh', ['-n', path]).status).toBe(0);
  });

  it('prefers the script in the state folder', () => {
    const { home, base } = scratch();
    mkdirSync(join(home, 'bin'));
    writeFileSync(join(home, 'bin/lookfirst-hook'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const { PATH, LOOKFIRST_COMPILE_CACHE } = process.env;
    const env = { PATH, LOOKFIRST_COMPILE_CACHE, HOME: base, LOOKFIRST_HOME: home };
    const args = [client, '--event', 'SessionStart'];
    const ran = spawnSync(join(packaging, folder, 'bin/lookfirst-hook'), args, { env, encoding: 'utf8' });
    expect([ran.status, ran.stdout]).toEqual([0, `${args.join(' ')}\n`]);
  });

  it.each([
    ['PreToolUse', 2],
    ['BeforeTool', 2],
    ['PostToolUse', 0],
    ['UserPromptSubmit', 0],
  ])('without Lookfirst and npx, %s ends with %d', (event, code) => {
    const { home, base } = scratch();
    const env = { PATH: '/nonexistent', HOME: base, LOOKFIRST_HOME: home };
    const path = join(packaging, folder, 'bin/lookfirst-hook');
    const ran = spawnSync('/bin/sh', [path, client, '--event', event], { env, encoding: 'utf8' });
    expect(ran.status).toBe(code);
    if (code === 2) expect(ran.stderr).toContain('this call is refused');
  });
});

it('the manifests name the hooks, the server and the version of the package', () => {
  expect(jsonAt('claude-code-plugin/.claude-plugin/plugin.json')).toMatchObject({
    name: 'lookfirst',
    version,
    hooks: './hooks/hooks.json',
    mcpServers: './.mcp.json',
  });
  const server = { command: 'npx', args: ['-y', 'lookfirst', 'serve', expect.any(String)] };
  expect(jsonAt('claude-code-plugin/.mcp.json')).toEqual({ mcpServers: { lookfirst: server } });
  expect(jsonAt('gemini-extension/gemini-extension.json')).toMatchObject({
    name: 'lookfirst',
    version,
    mcpServers: { lookfirst: server },
  });
});
