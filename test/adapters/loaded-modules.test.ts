import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../support/tree.ts';
import { prepare } from './prepare.mjs';

await prepare();

/** Packages that must not be loaded before an agent uses them. */
const HEAVY = /^@modelcontextprotocol|^@photostructure\/sqlite|^@vscode\/ripgrep/;

/**
 * A script that runs a program, then prints which modules of packages Node has loaded with `import`
 * or `require`.
 */
const WATCHED = `
import Module, { register } from 'node:module';
import { MessageChannel } from 'node:worker_threads';
const { port1, port2 } = new MessageChannel();
const urls = [];
port1.on('message', (url) => urls.push(url));
port1.unref();
const hooks = 'let port; export const initialize = (given) => { port = given; };' +
  'export const load = async (url, context, next) => { port.postMessage(url); return next(url, context); };';
register('data:text/javascript,' + encodeURIComponent(hooks), { data: port2, transferList: [port2] });
await import('data:text/javascript,' + encodeURIComponent('export default 0'));
await (await import(process.argv[1])).run();
await new Promise((resolve) => setTimeout(resolve, 50));
console.log(JSON.stringify([...urls, ...Object.keys(Module._cache)].filter((url) => url.includes('node_modules/'))));
`;

/** Tool calls that a test program makes. */
const LISTED = "list_directory.execute({ path: '.' }, {})";
const SEARCHED = "search_text.execute({ pattern: 'x', path: '.' }, {})";

/** A program that imports the adapter, and perhaps calls one of its tools with a database on disk. */
function programIn(folder: string, calling?: string): string {
  const name = calling?.split('.')[0] ?? 'none';
  const path = join(import.meta.dirname, 'node_modules', `.program-${process.pid}-${name}.mjs`);
  const call = `
    const session = await openSession({ roots: ['${folder}'], home: '${folder}/../home' });
    const tools = lookfirstTools(session);
    for await (const _ of tools.${calling});
    await session.close();`;
  writeFileSync(
    path,
    `import { openSession } from 'lookfirst';
    import { lookfirstTools } from 'lookfirst/ai-sdk';
    export async function run() { lookfirstTools; ${calling === undefined ? '' : call} }`,
  );
  onTestFinished(() => rmSync(path));
  return path;
}

function loadedBy(program: string): readonly string[] {
  const args = ['--no-warnings', '--input-type=module', '-e', WATCHED, program];
  const urls: string[] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  return urls.map((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url);
}

describe('the modules that `lookfirst/ai-sdk` loads', () => {
  it('exclude MCP, the database and ripgrep after an import', () => {
    const loaded = loadedBy(programIn(scratch().root));
    expect(loaded.filter((name) => HEAVY.test(name))).toEqual([]);
    const ours = loaded.filter((name) => name === 'lookfirst').length;
    expect(ours).toBeGreaterThan(10);
  });

  it('include the database and ripgrep once a tool needs them', () => {
    const { root } = scratch();
    const listing = loadedBy(programIn(root, LISTED));
    expect(listing).toContain('@photostructure/sqlite');
    expect(listing.join(' ')).not.toContain('@vscode/ripgrep');
    expect(loadedBy(programIn(root, SEARCHED)).join(' ')).toContain('@vscode/ripgrep');
  });
});
