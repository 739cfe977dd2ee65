import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environment } from '../support/command-line.ts';
import { scratch } from '../support/tree.ts';
import { WatchedChild } from '../support/watched-child.ts';

const project = join(import.meta.dirname, '../..');
const start = join(project, 'scripts/start.mjs');

describe('npm start', () => {
  it('says what is missing in a clone without dependencies', () => {
    const places = scratch();
    cpSync(join(project, 'scripts'), join(places.root, 'scripts'), { recursive: true });
    mkdirSync(join(places.root, 'src'));
    writeFileSync(join(places.root, 'src/main.ts'), '');
    const ran = spawnSync(process.execPath, ['scripts/start.mjs'], {
      cwd: places.root,
      env: environment(places),
      encoding: 'utf8',
    });
    expect(ran.stderr).toMatch(/^lookfirst: .*npm ci/);
    expect(ran.stderr).not.toMatch(/ at /);
    expect(ran.status).toBe(1);
  });

  it.skipIf(process.platform === 'win32')(
    'serves a recorded scene and ends, without a trace, with the shell in which npm runs it',
    async () => {
      const places = scratch();
      // The second command, `true`, keeps the shell from replacing itself with the program.
      const shell = spawn('sh', ['-c', `"${process.execPath}" "${start}"; true`], {
        cwd: places.root,
        env: environment(places, { INIT_CWD: places.root }),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let told = '';
      shell.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        told += chunk;
      });
      await new WatchedChild(shell).whileRunning(expect.poll(() => told).toMatch(/Ctrl-C/));
      const url = /See it +(http:\S+)/.exec(told)?.[1] ?? '';
      expect(await answers(url)).toBe(true);
      expect(told).toMatch(/MCP server on that folder: http:\S+\/mcp\n +Authorization: Bearer \S+/);
      const scene = /, in (\S+)\.\n/.exec(told)?.[1] ?? '';
      expect(existsSync(join(scene, 'src/cart.ts'))).toBe(true);
      shell.kill('SIGTERM');
      await once(shell, 'exit');
      await expect.poll(() => answers(url)).toBe(false);
      await expect.poll(() => existsSync(scene)).toBe(false);
      expect(readdirSync(places.root)).toEqual([]);
    },
  );
});

/** True if a process listens on the port. */
function answers(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
