import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { treeOf } from '../support/tree-of.ts';

const here = await sandboxHere();

let places: Scratch;
let outside: string;
beforeEach(() => {
  places = scratch();
  outside = join(places.home, '..', 'elsewhere');
  mkdirSync(outside);
});

function put(path: string, text: string): void {
  mkdirSync(join(places.root, path, '..'), { recursive: true });
  writeFileSync(join(places.root, path), text);
}

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org'];
  return execFileSync('git', [...identity, ...args], { cwd: places.root, encoding: 'utf8', stdio: 'pipe' });
}

async function ran(script: string): Promise<string> {
  const { code, stdout, stderr } = await lookfirst(places, ['run', '--', 'sh', '-ec', script]);
  expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

async function changes(): Promise<Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
}

describe.skipIf(here === undefined)('work in the undo profile', () => {
  it('git commit runs its hooks, and undo takes the commit back', async () => {
    git('init', '-q', '-b', 'main');
    put('a.txt', 'one\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    put('.git/hooks/pre-commit', `#!/bin/sh\necho checked >> '${outside}/hook'\n`);
    chmodSync(join(places.root, '.git/hooks/pre-commit'), 0o755);
    const before = [git('log', '--format=%s'), treeOf(places.root)];
    await new Hooked(places).prompt('commit it');
    const commit = await lookfirst(places, [
      ...['run', '--session', 's', '--', 'sh', '-ec'],
      'echo two > a.txt; git -c user.name=Ann -c user.email=ann@example.org commit -qam second; git status --short',
    ]);
    expect(git('log', '--format=%s')).toBe('second\nfirst\n');
    expect(git('fsck', '--strict')).not.toContain('error');
    expect(readFileSync(join(outside, 'hook'), 'utf8')).toBe('checked\n');
    const preview = (await lookfirst(places, ['undo', '--dry-run'])).stdout;
    const log = (await lookfirst(places, ['log', '--kind', 'change'])).stdout;
    const turns = (await lookfirst(places, ['rewind'])).stdout;
    const diff = await lookfirst(places, ['diff']);
    const diffOfGit = (await lookfirst(places, ['diff', '--path', '.git'])).stdout;
    const undo = await lookfirst(places, ['undo']);
    expect(undo).toMatchObject({ code: 0 });
    for (const text of [commit.stderr, preview, log, turns, diff.stdout + diff.stderr, undo.stdout]) {
      expect(text).toContain("git's own files");
      expect(text).toContain('a.txt');
      expect(text).not.toContain('.git/');
    }
    expect(diffOfGit).toContain('+++ b/.git/objects/');
    // Git compresses its objects. Shown as text, they would be full of replacement characters.
    expect(diffOfGit).not.toContain('\ufffd');
    expect([git('log', '--format=%s'), treeOf(places.root)]).toEqual(before);
  });

  it('no list names the files that `git gc` writes, and `git status` is no change', async () => {
    git('init', '-q', '-b', 'hooks/main');
    put('a.txt', 'one\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    await ran('echo two > a.txt; git -c user.name=Ann -c user.email=ann@example.org commit -qam second');
    const [commit] = await changes();
    utimesSync(join(places.root, 'a.txt'), 1, 1);
    await ran('git status --short');
    expect(await changes()).toHaveLength(1);
    await ran('git gc -q');
    const log = (await lookfirst(places, ['log', '--kind', 'change'])).stdout;
    const preview = (await lookfirst(places, ['undo', '--dry-run'])).stdout;
    const refused = await lookfirst(places, ['undo', String(commit?.['change'])]);
    expect(refused.code).toBe(2);
    const named = /\.git\/\S*/g;
    expect(`${log}${preview}`.match(named)).toBeNull();
    expect(refused.stderr.match(named)?.length).toBe(1);
    expect(refused.stderr).toContain("and git's own files");
  });

  it('git push reaches a bare repository', async () => {
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(outside, 'bare.git')]);
    git('init', '-q', '-b', 'main');
    put('a.txt', 'one\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    git('remote', 'add', 'origin', join(outside, 'bare.git'));
    await ran('git push -q -u origin main');
    expect(
      execFileSync('git', ['log', '--format=%s', 'main'], {
        cwd: join(outside, 'bare.git'),
        encoding: 'utf8',
      }),
    ).toBe('first\n');
    expect(git('rev-parse', '--abbrev-ref', 'main@{upstream}')).toBe('origin/main\n');
  });

  it('a server on localhost answers its client', async () => {
    put('index.txt', 'served\n');
    const server = `require('http').createServer((q, r) => r.end(require('fs').readFileSync('index.txt'))).listen(0, '127.0.0.1', function () { require('fs').writeFileSync('port', String(this.address().port)); })`;
    const client = `fetch('http://127.0.0.1:' + require('fs').readFileSync('port')).then((r) => r.text()).then((t) => require('fs').writeFileSync('got', t))`;
    put('server.cjs', server);
    put('client.cjs', client);
    await ran('node server.cjs & while ! [ -s port ]; do sleep 0.05; done; node client.cjs; kill $!');
    expect(readFileSync(join(places.root, 'got'), 'utf8')).toBe('served\n');
  });

  it('npm ci installs from a registry, and undo takes the packages away', async () => {
    const registry = await openRegistry();
    try {
      put('package.json', JSON.stringify({ name: 'app', version: '1.0.0', dependencies: { tiny: '1.0.0' } }));
      put('package-lock.json', registry.lock);
      const before = treeOf(places.root);
      await ran(
        `npm ci --registry '${registry.url}' --cache '${outside}/cache' --no-audit --no-fund --loglevel=error`,
      );
      expect(readFileSync(join(places.root, 'node_modules/tiny/index.js'), 'utf8')).toBe(
        'module.exports = 7;\n',
      );
      expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
      expect(existsSync(join(places.root, 'node_modules'))).toBe(false);
      expect(treeOf(places.root)).toEqual(before);
    } finally {
      registry.close();
    }
  });
});

/** An npm registry with one package, `tiny`. */
async function openRegistry(): Promise<{ readonly url: string; readonly lock: string; close(): void }> {
  const folder = join(outside, 'package');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }));
  writeFileSync(join(folder, 'index.js'), 'module.exports = 7;\n');
  execFileSync('tar', ['-czf', 'tiny.tgz', 'package'], { cwd: outside });
  const tarball = readFileSync(join(outside, 'tiny.tgz'));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/tiny/-/tiny-1.0.0.tgz' ? 200 : 404;
    response.end(response.statusCode === 200 ? tarball : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const packages = {
    '': { name: 'app', version: '1.0.0', dependencies: { tiny: '1.0.0' } },
    'node_modules/tiny': { version: '1.0.0', resolved: `${url}/tiny/-/tiny-1.0.0.tgz`, integrity },
  };
  const lock = JSON.stringify({
    name: 'app',
    version: '1.0.0',
    lockfileVersion: 3,
    requires: true,
    packages,
  });
  return { url, lock, close: () => void server.close() };
}
