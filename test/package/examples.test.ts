import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { npmEnvironment, toolIn } from '../support/tools.mjs';
import { scratch } from '../support/tree.ts';
import { pack } from './pack.ts';

const examples = join(import.meta.dirname, '../../examples');
/** The rows of the table in examples/README.md: the file, and the packages that it needs. */
const ROWS = [
  ...readFileSync(join(examples, 'README.md'), 'utf8').matchAll(/^\| `(.+\.mjs)` \| `(.+?)` \|/gm),
];
const tested = JSON.parse(readFileSync(join(import.meta.dirname, '../adapters/package-lock.json'), 'utf8'));

it('the table names the versions that the adapters are tested with', () => {
  expect(ROWS).toHaveLength(6);
  for (const [, , packages = ''] of ROWS)
    for (const named of packages.split(' ')) {
      const at = named.lastIndexOf('@');
      const { version } = tested.packages[`node_modules/${named.slice(0, at)}`];
      expect([named, version]).toEqual([named, named.slice(at + 1)]);
    }
});

it.each(ROWS.map(([, file = '', packages = '']) => [file, packages]))(
  '%s runs in an empty folder with %s, on Node 20 and 22',
  async (file, packages) => {
    const { base, root, home } = scratch();
    writeFileSync(join(root, 'package.json'), '{"private":true,"type":"module"}');
    for (const name of [file, 'workspace.mjs']) cpSync(join(examples, name), join(root, name));
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
    // As the page says: npm needs minutes to resolve the peer dependencies of LangChain's packages.
    if (packages.includes('langchain')) options.push('--legacy-peer-deps');
    const wanted = [join(base, pack(base).filename), ...packages.split(' ')];
    execFileSync('npm', ['install', ...options, ...wanted], {
      cwd: root,
      env: npmEnvironment(),
      stdio: 'ignore',
    });
    const node22 = await toolIn('nodes', `node-22-${process.arch}/bin/node`);
    for (const node of [process.execPath, node22]) {
      // No API key is in this environment, so the example runs offline.
      const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: base, LOOKFIRST_HOME: home };
      const out = execFileSync(node, [join(root, file)], { cwd: root, env, encoding: 'utf8' });
      expect(out).toMatch(/refusing to \w+ \S*greeting\.txt: read it first \[NOT_READ\]/m);
      expect(out).toContain('greeting.txt: Hello, world!');
    }
  },
);
