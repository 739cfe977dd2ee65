import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { environment, PROGRAM } from '../support/command-line.ts';
import { connectionHere } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

type Era = 'legacy' | 'modern';

interface Start {
  readonly places: Scratch;
  readonly cwd: string;
  readonly args: readonly string[];
}

const MEMORY = { LOOKFIRST_STORE: 'memory:' };

/** Starts the server in this process. */
const here = ({ places, cwd, args }: Start) => connectionHere(places, args, { cwd, env: MEMORY });

/** Starts the server as clients do. */
function asProcess({ places, cwd, args }: Start): StdioClientTransport {
  const [command = '', ...program] = PROGRAM;
  const env = environment(places, MEMORY) as Record<string, string>;
  return new StdioClientTransport({
    command,
    args: [...program, 'serve', ...args],
    cwd,
    env,
    stderr: 'ignore',
  });
}

/**
 * Starts a server in the folder `cwd` and connects a client that reports these roots. `args`:
 * further arguments of the server.
 */
async function connect(
  era: Era,
  roots: { list: readonly string[] } | undefined,
  args: readonly string[] = [],
  /** Plays the user, whom the server asks before every change of `where.txt`. */
  approval?: () => Promise<{ action: 'accept' }>,
  transport: typeof here | typeof asProcess = here,
) {
  const places = scratch();
  const { base, home } = places;
  if (approval !== undefined)
    writeFileSync(join(home, 'lookfirst.json'), JSON.stringify({ approve: ['where.txt'] }));
  const folder = (name: string): string => {
    const path = join(base, name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'where.txt'), `${name}\n`);
    return path;
  };
  for (const name of ['one', 'two']) folder(name);
  const cwd = folder('cwd');
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: {
        ...(roots === undefined ? {} : { roots: { listChanged: true } }),
        ...(approval === undefined ? {} : { elicitation: {} }),
      },
      versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
    },
  );
  if (roots !== undefined)
    client.setRequestHandler('roots/list', () => ({
      roots: roots.list.map((name) => ({
        uri: name.includes(':') ? name : pathToFileURL(join(base, name)).href,
      })),
    }));
  if (approval !== undefined) client.setRequestHandler('elicitation/create', approval);
  await client.connect(await transport({ places, cwd, args }));
  onTestFinished(() => client.close());
  const read = async (path = 'where.txt') => {
    const result = await client.callTool({ name: 'read_file', arguments: { path } });
    return (result.content as { text: string }[])[0]?.text ?? '';
  };
  return { client, read, base };
}

describe.each<Era>(['legacy', 'modern'])('a server without folders, for a %s client', (era) => {
  it('serves the roots of the client', async () => {
    const roots = { list: ['one', 'two'] };
    const { read, base } = await connect(era, roots, [], undefined, asProcess);
    expect(await read()).toContain('1\tone');
    expect(await read(join(base, 'two/where.txt'))).toContain('1\ttwo');
    expect(await read(join(base, 'cwd/where.txt'))).toContain('OUTSIDE_WORKSPACE');
  });

  it.each<[string, { list: string[] } | undefined]>([
    ['has no roots', undefined],
    ['has an empty list of roots', { list: [] }],
    ['names only missing folders', { list: ['https://example.org/', 'missing'] }],
  ])('serves the current folder if the client %s', async (_what, roots) => {
    const { read } = await connect(era, roots);
    expect(await read()).toContain('1\tcwd');
  });

  it('names several roots of the client in the first answer, and a single root never', async () => {
    const several = await connect(era, { list: ['one', 'two'] });
    const folders = `The workspace has 2 folders: ${join(several.base, 'one')}, ${join(several.base, 'two')}.`;
    expect(await several.read()).toContain(folders);
    expect(await several.read()).not.toContain('The workspace has');
    const single = await connect(era, { list: ['one'] });
    expect(await single.read()).not.toContain('The workspace');
  });

  it('does not ask for roots if a folder was given', async () => {
    const { read } = await connect(era, { list: ['one'] }, ['.']);
    expect(await read()).toContain('1\tcwd');
  });
});

it('judges a call after the notice of changed roots by the new roots', async () => {
  const roots = { list: ['one'] };
  const { client, read } = await connect('legacy', roots);
  expect(await read()).toContain('1\tone');
  roots.list = ['two'];
  await client.sendRootsListChanged();
  expect(await read()).toContain('1\ttwo');
});

it('names changed roots in the next answer', async () => {
  const roots = { list: ['one'] };
  const { client, read, base } = await connect('legacy', roots);
  await read();
  roots.list = ['two', 'one'];
  await client.sendRootsListChanged();
  const both = await read();
  expect(both).toContain(`2 folders: ${join(base, 'two')}, ${join(base, 'one')}.`);
  expect(both).toContain('Relative paths, and calls without a path, begin in the first');
  roots.list = ['two'];
  await client.sendRootsListChanged();
  expect(await read()).toContain(`The workspace is now ${join(base, 'two')}.`);
});

it('names several given folders in its instructions, and accepts relative paths between them', async () => {
  const { client, read, base } = await connect('legacy', undefined, ['../one', '../two']);
  const folders = `The workspace has 2 folders: ${join(base, 'one')}, ${join(base, 'two')}. `;
  expect(client.getInstructions()).toMatch(/^The workspace has .* the others\. Files here change only after/);
  expect(client.getInstructions()).toContain(folders);
  const shown = await read('../two/where.txt');
  expect(shown).toContain('1\ttwo');
  expect(shown).not.toContain('The workspace has');
});

it('keeps its instructions unchanged for a single folder', async () => {
  const { client } = await connect('legacy', undefined, ['../one', '--read-only-root', '../one']);
  expect(client.getInstructions()).toMatch(/^Files here change only after/);
});

it('keeps what the session has seen if the client adds a final slash to its roots', async () => {
  const roots = { list: ['one'] };
  const { client, read } = await connect('legacy', roots);
  expect(await read()).toContain('1\tone');
  roots.list = ['one/'];
  await client.sendRootsListChanged();
  const { isError } = await client.callTool({
    name: 'write_file',
    arguments: { path: 'where.txt', content: 'new\n' },
  });
  expect(isError).not.toBe(true);
});

it.each(['missing', 'https://example.org/'])(
  'keeps its folders if the client later names only %s',
  async (name) => {
    const roots = { list: ['one'] };
    const { client, read, base } = await connect('legacy', roots);
    expect(await read()).toContain('1\tone');
    roots.list = [name];
    await client.sendRootsListChanged();
    expect(await read(join(base, 'cwd/where.txt'))).toContain('OUTSIDE_WORKSPACE');
    expect(await read()).toContain('1\tone');
  },
);

it('ignores a root whose name no file system can hold', async () => {
  const { read } = await connect('legacy', { list: ['file:///%00', 'one'] });
  expect(await read()).toContain('1\tone');
});

it('ignores a root that cannot be opened, also if the client names it later', async () => {
  const roots = { list: ['one', 'one/where.txt/inside-a-file'] };
  const { client, read } = await connect('legacy', roots);
  expect(await read()).toContain('1\tone');
  roots.list = ['two/where.txt/inside-a-file', 'two'];
  await client.sendRootsListChanged();
  expect(await read()).toContain('1\ttwo');
});

it('serves changed roots while a call in the former ones waits for the user', async () => {
  const roots = { list: ['one'] };
  let accept: (answer: { action: 'accept' }) => void = () => {};
  let asked: () => void = () => {};
  const question = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const { client, read } = await connect('legacy', roots, [], () => {
    asked();
    return new Promise((resolve) => {
      accept = resolve;
    });
  });
  await read();
  const edit = client.callTool({
    name: 'edit_file',
    arguments: { path: 'where.txt', old_string: 'one', new_string: '1' },
  });
  await question;
  roots.list = ['two'];
  await client.sendRootsListChanged();
  expect(await read()).toContain('1\ttwo');
  accept({ action: 'accept' });
  expect((await edit).isError).not.toBe(true);
});
