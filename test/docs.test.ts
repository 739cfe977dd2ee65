import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CLIENT_NAMES } from '../src/cli/clients/client.ts';
import { CLIENTS } from '../src/cli/clients/clients.ts';
import { HOOK_SETTINGS } from '../src/cli/clients/hook-settings.ts';
import { COMMANDS, OLD_SPELLINGS } from '../src/cli/command-list.ts';
import { acceptedFlags } from '../src/cli/flags.ts';
import { flagName } from '../src/config/flags.ts';
import { stateFolder } from '../src/config/home.ts';
import { parsePolicyFile } from '../src/config/resolve-policy.ts';
import { openSession } from '../src/index.ts';
import { toolset } from '../src/tools/toolset.ts';
import { environment, PROGRAM } from './support/command-line.ts';
import { sandboxHere } from './support/sandbox.ts';
import { type Scratch, scratch } from './support/tree.ts';

const project = join(import.meta.dirname, '..');
const library = (entry: string): string => pathToFileURL(join(project, `dist/${entry}.js`)).href;
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', 'LIMITS.md'].concat(
  readdirSync(join(project, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
);

interface Block {
  readonly document: string;
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The reason why the block is not run, from a comment `<!-- not run: REASON -->` before it. */
  readonly reason: string | undefined;
}

/**
 * Every fenced code block of a document, with the reason from the comment before it, if there is
 * one.
 */
function blocksOf(document: string): Block[] {
  const text = readFileSync(join(project, document), 'utf8');
  const fences = text.matchAll(/(?:^<!-- not run: (.*) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm);
  return [...fences].map((match) => {
    const [, reason, language = '', code = ''] = match;
    return { document, line: text.slice(0, match.index).split('\n').length, language, code, reason };
  });
}

/** The sandbox of this machine, in which commands run; undefined if it has none. */
const sandbox = await sandboxHere();
const BLOCKS = DOCUMENTS.flatMap(blocksOf);
const run = BLOCKS.filter(({ reason }) => reason === undefined);
const runnable = run.filter(({ code }) => sandbox !== undefined || !code.includes('lookfirst run'));
const inLanguage = (...languages: readonly string[]): Block[] =>
  runnable.filter(({ language }) => languages.includes(language));

describe('code blocks in the documents', () => {
  it('are all run, type-checked or validated, except blocks marked with a reason', () => {
    const known = ['js', 'ts', 'console', 'sh', 'json'];
    const neither = run.filter(({ language }) => !known.includes(language));
    expect(neither.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
    const marked = BLOCKS.filter(({ reason }) => reason !== undefined);
    expect(marked.map(({ document, reason }) => `${document}: ${reason}`)).toMatchInlineSnapshot(`
      [
        "README.md: it installs and links this clone; npm start is run by test/package/start.test.ts",
        "CONTRIBUTING.md: it runs this suite",
        "ARCHITECTURE.md: a diagram, checked by test/architecture.test.ts",
        "docs/containment.md: needs Docker",
        "docs/fleet.md: needs Docker; test/fleet/documents.test.ts runs the commands on another server",
        "docs/fleet.md: needs the owner of a PostgreSQL server; test/fleet/documents.test.ts runs it",
        "docs/proxy.md: it needs a client; the tests in test/proxy run this server behind the proxy",
        "docs/proxy.md: test/docs-reference.test.ts runs it",
        "docs/refusals.md: a conversation; test/docs.test.ts compares its sentences with real answers",
        "docs/viewer.md: it needs a recorded turn; test/viewer/export.test.ts runs both commands",
      ]
    `);
    expect(run.length).toBeGreaterThan(20);
  });

  it.each(inLanguage('js', 'ts'))('$document:$line runs', ({ code }) => {
    const places = workplace(NOTES);
    const file = join(places.base, 'example.mjs');
    const local = ['ai-sdk', 'mcp', 'sqlite']
      .reduce((text, entry) => text.replaceAll(`'lookfirst/${entry}'`, `'${library(entry)}'`), code)
      .replaceAll("'lookfirst'", `'${library('index')}'`)
      .replaceAll("'session.jsonl'", "'../session.jsonl'")
      .replaceAll("'/repo'", `'${places.root}'`);
    writeFileSync(file, local);
    cpSync(join(project, 'test/fixtures/transcripts/claude-code.jsonl'), join(places.base, 'session.jsonl'));
    const args = ['--input-type=module', '-e', watched(file)];
    const options = { cwd: places.root, env: environment(places), input: '', encoding: 'utf8' } as const;
    expect(execFileSync(process.execPath, args, options)).toBe('');
  });

  it.each(inLanguage('ts'))('$document:$line has the right types', ({ code }) => {
    const { root } = scratch();
    mkdirSync(join(root, 'node_modules/@types'), { recursive: true });
    symlinkSync(project, join(root, 'node_modules/lookfirst'));
    symlinkSync(join(project, 'node_modules/@types/node'), join(root, 'node_modules/@types/node'));
    writeFileSync(join(root, 'package.json'), '{"type":"module"}');
    writeFileSync(join(root, 'example.ts'), code);
    const options = '--strict --module nodenext --target es2023 --noEmit --types node --skipLibCheck'.split(
      ' ',
    );
    const tsc = [join(project, 'node_modules/typescript/bin/tsc'), ...options, 'example.ts'];
    const ran = spawnSync(process.execPath, tsc, { cwd: root, encoding: 'utf8' });
    expect(ran.stdout + ran.stderr).toBe('');
  });

  it.each(inLanguage('console', 'sh'))('$document:$line: its commands succeed', ({ language, code }) => {
    const places = workplace(FILES);
    const lines = code.split('\n').filter((line) => line !== '');
    const commands =
      language === 'sh' ? lines : lines.flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
    expect(commands).not.toEqual([]);
    const bin = commandsIn(places);
    for (const command of commands) {
      const env = environment(places, { PATH: `${bin}:${process.env['PATH']}` });
      const ran = spawnSync('bash', ['-c', command], { cwd: places.root, env, encoding: 'utf8', input: '' });
      expect(ran.status, `${command}\n${ran.stdout}${ran.stderr}`).toBe(0);
    }
  });

  const isEvent = ({ code }: Block): boolean => code.includes('"event"');

  it.each(inLanguage('json').filter(isEvent))('$document:$line is an event of the hook', ({ code }) => {
    const places = workplace(FILES);
    const [program = '', ...first] = PROGRAM;
    const input = code.replaceAll('"/repo"', JSON.stringify(places.root));
    // With a store of its own, the hook starts no background process, which would outlive the test.
    const env = environment(places, { LOOKFIRST_STORE: 'memory:' });
    const ran = spawnSync(program, [...first, 'hook', 'generic'], {
      cwd: places.root,
      env,
      input,
      encoding: 'utf8',
    });
    expect([ran.status, JSON.parse(ran.stdout)]).toEqual([0, { verdict: 'pass' }]);
  });

  it.each(inLanguage('json').filter((block) => !isEvent(block)))(
    '$document:$line is a policy file',
    ({ code }) => {
      expect(() => parsePolicyFile(code)).not.toThrow();
    },
  );
});

describe('docs/refusals.md', () => {
  it('quotes real answers', async () => {
    const { root, home } = scratch();
    const path = join(root, 'src/app.ts');
    mkdirSync(join(root, 'src'));
    writeFileSync(path, 'one\ntwo\nthree\n');
    const session = await openSession({ roots: [root], home, store: 'memory:' });
    const { tools } = toolset(session);
    const call = async (name: string, args: object): Promise<string> =>
      (await tools.find((tool) => tool.name === name)?.call(args))?.text ?? '';
    const write = { path: 'src/app.ts', content: 'new\n' };
    const answers = [await call('write_file', write), await call('read_file', { path: 'src/app.ts' })];
    writeFileSync(path, 'one\ntwo, by hand\nthree\n');
    answers.push(await call('write_file', write));
    await session.close();
    const [conversation] = BLOCKS.filter(
      ({ document, language }) => document === 'docs/refusals.md' && language === '',
    );
    const quoted = conversation?.code.match(/(?<=^ {8}).+?(?= …$|$)/gm) ?? [];
    expect(quoted.length).toBeGreaterThan(10);
    expect(quoted.filter((line) => !answers.join('\n').includes(line))).toEqual([]);
  });
});

describe('docs/clients.md', () => {
  it('has client entries that are valid JSON and start the server', () => {
    const text = readFileSync(join(project, 'docs/clients.md'), 'utf8');
    const entries = [...text.matchAll(/`(\{"[^`]*\})`/g)].map(([, json = '']) =>
      JSON.stringify(JSON.parse(json)),
    );
    expect(entries.length).toBe(4);
    for (const entry of entries)
      expect(entry).toMatch(/"npx".*"-y","lookfirst","serve","(DIR|\$\{workspaceFolder\})"\]/);
  });
});

describe('every document', () => {
  it('names only commands and flags that exist', async () => {
    const flags = new Map<string, string[]>();
    for (const { name, load } of COMMANDS) {
      const command = await load();
      const keys = Object.keys(acceptedFlags(command));
      flags.set(name, [...keys.map(flagName), '--help', '--version']);
    }
    for (const [old, [name = '']] of Object.entries(OLD_SPELLINGS)) flags.set(old, flags.get(name) ?? []);
    const wrong: string[] = [];
    let count = 0;
    for (const document of [...DOCUMENTS, 'CHANGELOG.md', 'examples/README.md']) {
      const text = readFileSync(join(project, document), 'utf8');
      for (const [, line = ''] of text.matchAll(/`(?:npx (?:-y )?)?lookfirst ([^`]+)`/g)) {
        const [own = ''] = line.split(' -- ');
        const [name = '', ...words] = own.split(' ');
        if (!/^[a-z]+$/.test(name)) continue;
        count += 1;
        const known = flags.get(name);
        const given = words.flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? []);
        if (known === undefined || given.some((flag) => !known.includes(flag)))
          wrong.push(`${document}: ${line}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(80);
  });

  it('links only to files that exist, and docs/README.md lists every page', () => {
    const missing = DOCUMENTS.flatMap((document) => {
      const text = readFileSync(join(project, document), 'utf8');
      const targets = [...text.matchAll(/\]\(([^)#:]+)\)|src(?:set)?="([^":]+)"/g)].map(
        (match) => match[1] ?? match[2],
      );
      return targets.filter((target = '') => !existsSync(join(project, document, '..', target)));
    });
    expect(missing).toEqual([]);
    const index = readFileSync(join(project, 'docs/README.md'), 'utf8');
    const pages = readdirSync(join(project, 'docs')).filter(
      (name) => /\.md$/.test(name) && name !== 'README.md',
    );
    expect(pages.filter((name) => !index.includes(`(${name})`))).toEqual([]);
  });
});

describe('docs/hooks.md', () => {
  it('names the files that init --hooks writes', () => {
    const text = readFileSync(join(project, 'docs/hooks.md'), 'utf8');
    const places = { platform: 'linux', env: {}, home: '~', project: '' } as const;
    const files = CLIENT_NAMES.flatMap((name) => {
      const hooks = HOOK_SETTINGS[name];
      if (hooks === undefined) return [];
      const [server = ''] = CLIENTS[name].files(CLIENTS[name].defaultScope, places);
      return [server, hooks.file(hooks.defaultScope, places)];
    });
    expect(files.length).toBe(12);
    expect(files.filter((file) => !text.includes(`| \`${file}\``))).toEqual([]);
  });
});

describe('docs/operating.md', () => {
  const text = readFileSync(join(project, 'docs/operating.md'), 'utf8');

  it.each([
    ['linux', { HOME: '/me' }, '~/.local/state/lookfirst'],
    ['darwin', { HOME: '/me' }, '~/Library/Application Support/lookfirst'],
    ['win32', { LOCALAPPDATA: 'C:\\Local' }, '%LOCALAPPDATA%\\lookfirst'],
  ])('names the state folder on %s', (platform, env, shown) => {
    const folder = stateFolder({ platform, env });
    expect(folder.replace('/me', '~').replace('C:\\Local', '%LOCALAPPDATA%')).toBe(shown);
    expect(text).toContain(`\`${shown}\``);
  });

  it('names only environment variables that the program reads', () => {
    const sources = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => readFileSync(join(project, 'src', name), 'utf8'))
      .join('\n');
    const named = [...text.matchAll(/LOOKFIRST_[A-Z_]+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !sources.includes(`['${name}']`))).toEqual([]);
  });
});

describe('docs/library.md', () => {
  it('names every method of a session', () => {
    const source = readFileSync(join(project, 'src/model/session.ts'), 'utf8');
    const [, declared = ''] = /^export interface Session \{\n(.*?)^\}/ms.exec(source) ?? [];
    const methods = [...declared.matchAll(/^ {2}(\w+)\(/gm)].map(([, name = '']) => name);
    expect(methods.length).toBeGreaterThan(30);
    const text = readFileSync(join(project, 'docs/library.md'), 'utf8');
    expect(methods.filter((name) => !text.includes(`\`${name}(`))).toEqual([]);
  });
});

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

const NOTES = { 'notes.txt': 'one\ntwo\nthree\n' };
const FILES = { ...NOTES, 'src/a.ts': 'const a = 1;\n', 'a.md': 'the colour\n', 'old.md': 'old\n' };

/** A workspace with files that the documents name. */
function workplace(files: Readonly<Record<string, string>>): Scratch {
  const places = scratch();
  mkdirSync(join(places.base, 'project'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(places.root, name)), { recursive: true });
    writeFileSync(join(places.root, name), content);
  }
  return places;
}

/** A folder with the commands that documents use. A server or viewer counts as done when it has printed its address. */
function commandsIn({ base }: Scratch): string {
  const bin = join(base, 'bin');
  mkdirSync(bin);
  const until = `
import { spawn } from 'node:child_process';
const args = process.argv.slice(2);
const serves = ['view', 'serve'].includes(args[0]);
const child = spawn(${JSON.stringify(PROGRAM[0])}, [${JSON.stringify(PROGRAM[1])}, ...args], { stdio: ['inherit', 'pipe', 'pipe'] });
let isUp = false;
for (const stream of [child.stdout, child.stderr])
  stream.on('data', (chunk) => {
    process.stdout.write(chunk);
    if (serves && /http:|serving/.test(String(chunk))) {
      isUp = true;
      child.kill();
    }
  });
child.on('close', (code) => process.exit(isUp ? 0 : (code ?? 1)));`;
  writeFileSync(join(bin, 'until.mjs'), until);
  const start = `exec ${PROGRAM[0]} ${join(bin, 'until.mjs')}`;
  const scripts = { lookfirst: `${start} "$@"`, npx: `shift 2; ${start} "$@"`, 'xdg-open': 'exit 0' };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

/**
 * A program that runs an example. It prints failed calls of `console.assert`, and drops all output
 * of `console.log`.
 */
function watched(file: string): string {
  return `console.log = () => {};
console.assert = (holds) => { if (!holds) process.stdout.write(new Error('assertion failed').stack); };
await import(${JSON.stringify(pathToFileURL(file).href)});`;
}
