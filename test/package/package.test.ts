import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command-list.ts';
import { scratch } from '../support/tree.ts';
import { pack } from './pack.ts';

const project = join(import.meta.dirname, '../..');
const read = (name: string): unknown => JSON.parse(readFileSync(join(project, name), 'utf8'));

describe('the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lookfirst-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const packed = pack(folder);

  it('contains the build and its documents, and nothing else', () => {
    const { files, size } = packed;
    const paths = files.map(({ path }) => path);
    const papers = paths.filter((path) => !path.startsWith('dist/')).sort();
    expect(papers).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(paths.filter((path) => /\.test\.|\.map$|fixtures|children/.test(path))).toEqual([]);
    expect(paths).toContain('dist/bin/lookfirst.js');
    expect(paths.length).toBeLessThanOrEqual(200);
    expect(size).toBeLessThanOrEqual(570_000);
  });

  it('has a manual page with every command and its flags', () => {
    // The field `man` must be an array: `npm install -g` ignores a manual page that is given as a
    // string.
    const { man } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { man: unknown };
    expect(man).toEqual(['./dist/man/lookfirst.1']);
    const page = readFileSync(join(project, 'dist/man/lookfirst.1'), 'utf8');
    for (const { usage } of COMMANDS)
      expect(page).toContain(`.SS "lookfirst ${usage.replaceAll('-', '\\-')}"`);
    expect(page).toContain('.B \\-\\-read\\-only\\-root DIR\n');
    const groff = spawnSync('groff', ['-man', '-Tutf8', '-ww'], { input: page, encoding: 'utf8' });
    // Skip this check on machines without groff, which checks the manual page.
    if (groff.error === undefined) expect(groff.stderr).toBe('');
  });

  it('has short lines, because Node prints the whole line that throws', () => {
    const chunks = join(project, 'dist/chunks');
    const longest = readdirSync(chunks).map((name) => {
      const lines = readFileSync(join(chunks, name), 'utf8').split('\n');
      return Math.max(...lines.map(({ length }) => length));
    });
    expect(Math.max(...longest)).toBeLessThan(10_000);
  });

  it('has chunks that can be loaded in any order', () => {
    // If two chunks require each other, the chunk that is loaded first gets an empty object from the other. The script
    // records, while chunks are loaded, which chunk requires which.
    const script = `
      const Module = require('node:module');
      const { readdirSync } = require('node:fs');
      const folder = ${JSON.stringify(join(project, 'dist/chunks/'))};
      const needs = [];
      const load = Module._load;
      Module._load = function (request, parent, ...rest) {
        const isChunk = request.startsWith('./') && parent.filename?.startsWith(folder);
        if (isChunk && !parent.loaded) needs.push([parent.filename, request]);
        return load.call(this, request, parent, ...rest);
      };
      for (const name of readdirSync(folder)) require(folder + name);
      console.log(JSON.stringify(needs.map(([from, to]) => [from.slice(folder.length), to.slice(2)])));`;
    const ran = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    const needs = JSON.parse(ran) as [string, string][];
    expect(needs).toContainEqual(['sqlite.cjs', expect.any(String)]);
    // Removes the chunks that need none of the others, until only those in a cycle are left.
    let left = [...new Set(needs.flat())];
    for (let before = 0; before !== left.length; ) {
      before = left.length;
      left = left.filter((chunk) => needs.some(([from, to]) => from === chunk && left.includes(to)));
    }
    expect(left).toEqual([]);
  });

  it('loads the packages for older encodings only when a file needs them', () => {
    const { root, home } = scratch();
    writeFileSync(join(root, 'utf-8.txt'), 'Gr\u00fc\u00dfe\n');
    writeFileSync(join(root, 'latin-1.txt'), Buffer.from('Gr\u00fc\u00dfe aus K\u00f6ln\n', 'latin1'));
    const script = `
      import { createRequire } from 'node:module';
      import { openSession } from ${JSON.stringify(join(project, 'dist/index.js'))};
      const { cache } = createRequire(import.meta.url);
      const loaded = () => Object.keys(cache).some((file) => /chardet|iconv-lite/.test(file));
      const session = await openSession(${JSON.stringify({ roots: [root], home })});
      const seen = [];
      for (const name of ['utf-8.txt', 'latin-1.txt']) {
        const outcome = await session.read(name);
        seen.push([outcome.ok, loaded()]);
      }
      await session.close();
      console.log(JSON.stringify(seen));`;
    const ran = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(JSON.parse(ran)).toEqual([
      [true, false],
      [true, true],
    ]);
  });
});

describe('the registry entry and the bundle manifest', () => {
  it('have the same name and version', () => {
    const { version, mcpName, name } = read('package.json') as Record<string, string>;
    expect(read('server.json')).toMatchObject({
      name: mcpName,
      version,
      packages: [{ identifier: name, version }],
    });
    expect(read('packaging/mcpb/manifest.json')).toMatchObject({ manifest_version: '0.3', name, version });
  });
});
