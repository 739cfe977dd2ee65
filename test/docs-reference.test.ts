import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ServerProcess } from '../src/cli/server-process.ts';
import { KNOWN_SERVERS } from '../src/dialect/calls/servers/known-servers.ts';
import { USER_TABLE } from '../src/dialect/calls/table.ts';
import { DIALECT_NAMES } from '../src/dialect/tool.ts';
import { loadDialect } from '../src/mcp/serve.ts';
import { FAULT_CODES } from '../src/model/fault.ts';
import type { Notice } from '../src/model/results.ts';
import { checkShape, mismatchText } from '../src/model/shape.ts';
import { REFUSAL_CODES } from '../src/model/verdict.ts';
import { environment, lookfirst, PROGRAM } from './support/command-line.ts';
import { scratch } from './support/tree.ts';

const project = join(import.meta.dirname, '..');
const page = (name: string): string => readFileSync(join(project, 'docs', name), 'utf8');

/** The text of a page from a heading up to the next heading of the same or a higher level. */
function section(text: string, heading: string): string {
  const [marks = ''] = heading.split(' ');
  const [, rest] = text.split(`\n${heading}\n`);
  if (rest === undefined) throw new Error(`there is no heading ${heading}`);
  return rest.split(new RegExp(`^#{1,${marks.length}} `, 'm'))[0] ?? '';
}

/** The cells of each table row whose first cell begins with a backtick. This leaves out the header rows. */
function rowsOf(text: string): string[][] {
  const rows = [...text.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(' | '));
  return rows.filter(([first = '']) => first.startsWith('`'));
}

const namesIn = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
const firstNames = (text: string): string[] => rowsOf(text).flatMap(([first]) => namesIn(first));

/** Every kind of notice. The type makes the compiler report a kind that is missing here. */
const NOTICES: Readonly<Record<Notice['kind'], true>> = {
  'changed-elsewhere': true,
  'unseen-lines': true,
  'unseen-append': true,
  'match-tier': true,
  'quotes-straightened': true,
  'quotes-kept': true,
  'settings-changed': true,
  'hard-links-broken': true,
  'mode-bits-dropped': true,
  'owner-changed': true,
  'xattrs-lost': true,
  'stale-warning': true,
  'form-changed': true,
  'late-write': true,
  'met-save': true,
  'changed-seen-files': true,
  bypassed: true,
  'not-recorded': true,
  'not-noted': true,
  overtaken: true,
  'came-back': true,
  'lost-change': true,
  'older-files': true,
  'in-stash': true,
  'not-kept': true,
  destroyed: true,
  'work-destroyed': true,
  claimed: true,
  'others-at-work': true,
  'other-worktree': true,
  recreated: true,
};

describe('docs/refusals.md', () => {
  const text = page('refusals.md');
  const [refusals = '', rest = ''] = text.split('\n## Notices\n');
  const [notices = '', faults = ''] = rest.split('\n## Faults\n');

  it.each([
    ['refusal code', refusals, [...REFUSAL_CODES]],
    ['kind of notice', notices, Object.keys(NOTICES)],
    ['fault code', faults, [...FAULT_CODES]],
  ])('has exactly one row for each %s', (_what, part, expected) => {
    expect(firstNames(part).sort()).toEqual(expected.sort());
    expect(rowsOf(part).filter((row) => row.length !== 3 || row.includes(''))).toEqual([]);
  });
});

describe('docs/tools.md', () => {
  const text = page('tools.md');

  it('names every tool of the default dialect with its arguments', async () => {
    const { tools } = await loadDialect('lookfirst');
    const rows = rowsOf(section(text, '## Tools of the default dialect'));
    const documented = rows.map(([name, , args]) => [namesIn(name)[0], namesIn(args).sort()]);
    expect(documented).toEqual(
      tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties).sort()]),
    );
  });

  it('has one section for each other dialect, with all its tools', async () => {
    const others = DIALECT_NAMES.filter((name) => name !== 'lookfirst');
    const headings = [...text.matchAll(/^### `(.+)`$/gm)].map(([, name = '']) => name);
    expect(headings.sort()).toEqual(others.sort());
    for (const name of others) {
      const [, listed] = section(text, `### \`${name}\``).split('\nTools: ');
      const { tools } = await loadDialect(name);
      expect([name, ...namesIn(listed)]).toEqual([name, ...tools.map((tool) => tool.name)]);
    }
  });

  it('names packages and scripts that exist', () => {
    const paths = text.match(/\bpackaging\/[\w-]+/g) ?? [];
    expect(paths.length).toBeGreaterThan(1);
    expect(paths.filter((path) => !existsSync(join(project, path)))).toEqual([]);
    const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    const named = [...text.matchAll(/npm run (\w+)/g)].map(([, script = '']) => script);
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  });
});

/**
 * A server whose tools read, write, edit and delete files. Lookfirst has no table for this server;
 * docs/proxy.md contains one.
 */
const NOTES = `
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const tools = {
  load: ({ name }) => readFileSync(name, 'utf8'),
  store: ({ name, text }) => writeFileSync(name, text),
  replace: ({ name, from, to }) => writeFileSync(name, readFileSync(name, 'utf8').replace(from, to)),
  drop: ({ name }) => rmSync(name),
  topics: () => 'none',
  wipe: () => 'wiped',
};
const answers = {
  initialize: ({ protocolVersion }) =>
    ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } }),
  'tools/list': () => ({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name, arguments: args }) =>
    ({ content: [{ type: 'text', text: String(tools[name](args) ?? 'done') }] }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }));
});
`;

describe('docs/proxy.md', () => {
  const text = page('proxy.md');

  it('has a policy file that describes a server of the user', async () => {
    const places = scratch();
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(text) ?? [];
    writeFileSync(join(places.home, 'lookfirst.json'), json);
    writeFileSync(join(places.base, 'notes.mjs'), NOTES);
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const command = [...PROGRAM, 'proxy', '--root', places.root, '--', process.execPath];
    const server = await ServerProcess.start(
      [...command, join(places.base, 'notes.mjs')],
      environment(places),
    );
    onTestFinished(() => server.stop());
    const name = join(places.root, 'a.txt');
    expect(await server.call('store', { name, text: 'blind\n' })).toMatchObject({ code: 'NOT_READ' });
    expect(await server.call('drop', { name })).toMatchObject({ code: 'NOT_READ' });
    expect((await server.call('load', { name })).text).toBe('one\n');
    expect((await server.call('store', { name, text: 'two\n' })).ok).toBe(true);
    expect((await server.call('replace', { name, from: 'two', to: 'three' })).ok).toBe(true);
    expect(readFileSync(name, 'utf8')).toBe('three\n');
    expect((await server.call('drop', { name })).ok).toBe(true);
    expect(existsSync(name)).toBe(false);
    expect((await server.call('topics', {})).text).toBe('none');
    expect(await server.call('wipe', {})).toMatchObject({ code: 'PROTECTED' });
  });

  it('lists every known server and every effect that a table may name', () => {
    const known = firstNames(section(text, '## Which servers it knows'));
    expect(known.filter((name) => KNOWN_SERVERS.some(({ id }) => id === name)).sort()).toEqual(
      KNOWN_SERVERS.map(({ id }) => id).sort(),
    );
    expect(known).toHaveLength(KNOWN_SERVERS.length);
    const [mismatch] = checkShape(USER_TABLE, { id: 'mine', tools: { a: [{ does: 'wrong' }] } });
    if (mismatch === undefined) throw new Error('a wrong effect was accepted');
    const said = mismatchText(mismatch, { noun: 'key', whole: 'the table' });
    const [, allowed = ''] = /must be one of (.+?)(?:, not |$)/.exec(said) ?? [];
    const [, listed = ''] = /^- `does` is one of ([^.]+)\./m.exec(text) ?? [];
    expect(namesIn(listed)).toEqual([...allowed.matchAll(/"(\w+)"/g)].map(([, effect]) => effect));
  });

  it('shows what init does to a configured server', async () => {
    const places = scratch();
    const file = join(places.root, '.vscode/mcp.json');
    const [, before = '', after = ''] = /changes the command `([^`]+)` to\s+`([^`]+)`/.exec(text) ?? [];
    const [command, ...args] = before.split(' ');
    const content = JSON.stringify({ servers: { filesystem: { command, args } } });
    mkdirSync(join(places.root, '.vscode'));
    writeFileSync(file, content);
    const init = await lookfirst(places, ['init', 'vscode', '--proxy', 'filesystem', '--command', 'npx']);
    expect(init.code).toBe(0);
    const { filesystem } = JSON.parse(readFileSync(file, 'utf8')).servers;
    expect([filesystem.command, ...filesystem.args].join(' ')).toBe(after);
    expect((await lookfirst(places, ['remove', 'vscode', '--proxy', 'filesystem'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(content);
  });
});
