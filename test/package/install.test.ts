import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { npmEnvironment } from '../support/tools.mjs';
import { scratch } from '../support/tree.ts';
import { pack } from './pack.ts';

it('the package installs without scripts into an empty folder and runs there', () => {
  const { base, root, home } = scratch();
  const folder = join(base, 'packed');
  mkdirSync(folder);
  writeFileSync(join(root, 'package.json'), '{"private":true,"type":"module"}');
  const install = [
    'install',
    '--prefer-offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    join(folder, pack(folder).filename),
  ];
  execFileSync('npm', install, { cwd: root, env: npmEnvironment(), stdio: 'ignore' });
  const env = { ...process.env, LOOKFIRST_HOME: home };
  const command = join(root, 'node_modules/.bin/lookfirst');
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  expect(execFileSync(command, ['--version'], { env, encoding: 'utf8' })).toBe(`${version}\n`);
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  };
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
  const input = `${JSON.stringify(hello)}\n${JSON.stringify(list)}\n`;
  const served = spawnSync(command, [base], { env, input, encoding: 'utf8' });
  expect(served.stdout).toContain('"read_file"');
  const program =
    "import('lookfirst').then(async (l) => { const s = await l.openSession({ roots: [process.cwd()] }); console.log((await s.read('package.json')).ok); await s.close(); })";
  expect(execFileSync(process.execPath, ['-e', program], { cwd: root, env, encoding: 'utf8' }).trim()).toBe(
    'true',
  );
});

it('every package is built and checked by the script for releases', () => {
  const script = join(import.meta.dirname, '../../scripts/package.mjs');
  const out = execFileSync(process.execPath, [script], { env: npmEnvironment(), encoding: 'utf8' });
  for (const built of ['.tgz', '.mcpb', 'claude-code-plugin', 'gemini-extension', 'server.json'])
    expect(out).toContain(built);
});
