import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { scratch } from './support/tree.ts';

const project = join(import.meta.dirname, '..');
const library = pathToFileURL(join(project, 'dist/index.js')).href;

/** The runnable blocks of a document, with the heading each stands under. */
function examples(document: string): { readonly title: string; readonly code: string }[] {
  const text = readFileSync(join(project, document), 'utf8');
  return [...text.matchAll(/^## (.+)$(?:(?!^## )[\s\S])*?^```js\n([\s\S]*?)^```$/gm)].map((match) => ({
    title: match[1] ?? '',
    code: match[2] ?? '',
  }));
}

describe('docs/library.md', () => {
  const found = examples('docs/library.md');

  it('has its examples', () => {
    expect(found.length).toBe(11);
  });

  it.each(found)('$title', ({ code }) => {
    const { root, home, base } = scratch();
    writeFileSync(join(root, 'notes.txt'), 'one\ntwo\nthree\n');
    const file = join(base, 'example.mjs');
    const server = library.replace('index.js', 'mcp.js');
    const entries = { "'lookfirst'": library, "'lookfirst/mcp'": server };
    const local = Object.entries(entries).reduce(
      (text, [name, path]) => text.replaceAll(name, JSON.stringify(path)),
      code,
    );
    writeFileSync(file, local);
    const env = { ...process.env, LOOKFIRST_HOME: home };
    const args = ['--input-type=module', '-e', watched(file)];
    expect(execFileSync(process.execPath, args, { cwd: root, env, input: '', encoding: 'utf8' })).toBe('');
  });
});

/** Runs an example with an assert that speaks on stdout; what it prints otherwise is its own affair. */
function watched(file: string): string {
  return `console.log = () => {};
console.assert = (holds) => { if (!holds) process.stdout.write(new Error('assertion failed').stack); };
await import(${JSON.stringify(pathToFileURL(file).href)});`;
}

describe('docs/EXTENDING.md', () => {
  it('names only files and folders that exist', () => {
    const text = readFileSync(join(project, 'docs/EXTENDING.md'), 'utf8');
    const named = [...text.matchAll(/`((?:src|test|docs|examples)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    );
    const missing = named.filter((path) => !path.includes('NAME') && !existsSync(join(project, path)));
    expect(named.length).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });
});
