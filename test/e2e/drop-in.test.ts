import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { environment, PROGRAM } from '../support/command-line.ts';
import { RawClient } from '../support/raw-client.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { CALLS, type DropInCall, REASONS } from './drop-in-calls.ts';

const OFFICIAL = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);
const [, PATH = ''] = PROGRAM;

const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'a.txt': 'one\ntwo\nthree\n',
  'no-newline.txt': 'one\ntwo\nthree',
  'crlf.txt': 'one\r\ntwo\r\nthree\r\n',
  'empty.txt': '',
  'blank.txt': '\n\n\n',
  'umlauts.txt': 'zwölf\nнет\n日本\n😀\n',
  'two words.txt': 'x\n',
  'long.txt': Array.from({ length: 3000 }, (_, index) => `line ${index + 1}\n`).join(''),
  'latin1.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9, 10]),
  'bytes.dat': Buffer.from([0, 1, 2, 255, 254]),
  ...Object.fromEntries(
    ['pic.png', 's.svg', 'x.MP3', 'y.flac', 'z.wav', 'o.ogg', 'g.gif', 'i.webp', 'j.JPG', 'k.bmp'].map(
      (name) => [name, `${name}\n`],
    ),
  ),
  'sub/b.txt': 'b\n',
  'sub/deep/c.ts': 'const c = 1;\n',
  'sub/deep/d.test.ts': 'test\n',
  'sub/.hidden': 'h\n',
  'plain/small': 'x',
  'plain/large': 'x'.repeat(3000),
  'node_modules/m/index.js': 'm\n',
  'edit.txt': 'alpha\nbeta\ngamma\ndelta\n',
  'dup.txt': 'same\nsame\n',
  'indent.py': 'def f():\n    if x:\n        return 1\n',
  'mv.txt': 'mv\n',
  'unseen.txt': 'unseen\n',
  'one.txt': 'x\n',
  [`${'deep/'.repeat(40)}bottom.txt`]: 'x\n',
};

/**
 * Creates the files of one server. Each server gets its own tree with the same content and times.
 */
function plant(root: string): void {
  mkdirSync(join(root, 'emptydir'), { recursive: true });
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  symlinkSync('a.txt', join(root, 'link.txt'));
  symlinkSync('sub', join(root, 'sublink'));
  symlinkSync('nowhere', join(root, 'dangling'));
  symlinkSync('/etc', join(root, 'out'));
  symlinkSync('loop', join(root, 'loop'));
  chmodSync(join(root, 'a.txt'), 0o640);
  const then = new Date('2026-01-02T03:04:05Z');
  for (const name of ['a.txt', 'sub']) utimesSync(join(root, name), then, then);
}

/** A server on its own tree. `call` replaces the path of this tree by `ROOT` in the answers. */
class State {
  readonly client: RawClient;
  readonly #root: string;

  constructor(places: Scratch, [name, ...args]: readonly [string, ...string[]]) {
    this.#root = join(places.root, name);
    plant(this.#root);
    this.client = new RawClient([...args, this.#root], { env: environment(places) });
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'test', version: '1' };
    await this.client.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  async call([tool, args]: DropInCall): Promise<Told> {
    const given: object = JSON.parse(JSON.stringify(args).replaceAll('ROOT', this.#root));
    const { result, error } = await this.client.request('tools/call', { name: tool, arguments: given });
    const told: Told = JSON.parse(JSON.stringify(result ?? { error }).replaceAll(this.#root, 'ROOT'));
    const { _meta: _, ...rest } = told;
    return withoutTimes(rest);
  }
}

interface Told {
  readonly content?: readonly { readonly text?: string }[];
  readonly isError?: boolean;
  readonly _meta?: unknown;
}

/**
 * Replaces the times of creation and access, because the trees of the two servers were not created
 * at the same moment.
 */
function withoutTimes(told: Told): Told {
  return JSON.parse(JSON.stringify(told).replace(/(created|accessed): [A-Z][^\\]*/g, '$1: then'));
}

const textOf = (told: Told): string => told.content?.map(({ text }) => text).join('\n') ?? '';

/**
 * True if our answer equals the official one. Our text of an error may be longer, but must contain
 * the official text.
 */
function isSame(official: Told, ours: Told): boolean {
  if (official.isError !== true) return JSON.stringify(ours) === JSON.stringify(official);
  return ours.isError === true && textOf(ours).includes(textOf(official)) && !('structuredContent' in ours);
}

async function both(): Promise<{ official: State; ours: State }> {
  const places = scratch();
  const official = new State(places, ['official', OFFICIAL]);
  const ours = new State(places, ['ours', PATH, '--dialect', 'filesystem']);
  await Promise.all([official.open(), ours.open()]);
  return { official, ours };
}

describe.skipIf(process.platform !== 'linux')('the filesystem dialect beside the official server', () => {
  it('gives the same answers, except for differences with a stated reason', async () => {
    const { official, ours } = await both();
    const unlike: unknown[] = [];
    for (const call of CALLS) {
      const [theirs, own] = [await official.call(call), await ours.call(call)];
      const [tool, args, differs] = call;
      // Answers must differ exactly for the calls that state a reason for a difference.
      if (isSame(theirs, own) !== (differs === undefined))
        unlike.push({ tool, args, reason: differs && REASONS[differs], theirs, own });
    }
    expect(unlike).toEqual([]);
    expect(CALLS.length).toBeGreaterThan(200);
  });

  it('offers the same tools with the same arguments, hints and shapes of results', async () => {
    const { official, ours } = await both();
    const tools = async ({ client }: State) => {
      const { result } = await client.request('tools/list');
      const listed = (result?.['tools'] ?? []) as Listed[];
      return new Map(listed.map((tool) => [tool.name, tool]));
    };
    const [theirs, own] = [await tools(official), await tools(ours)];
    expect([...own.keys()].sort()).toEqual([...theirs.keys()].sort());
    for (const [name, tool] of theirs) {
      const mine = own.get(name);
      expect(mine?.title).toBe(tool.title);
      expect(mine?.annotations).toMatchObject(tool.annotations);
      expect(mine?.outputSchema).toEqual(plain(tool.outputSchema));
      expect(withoutDescriptions(mine?.inputSchema)).toEqual(withoutDescriptions(tool.inputSchema));
    }
  });
});

interface Listed {
  readonly name: string;
  readonly title: string;
  readonly annotations: object;
  readonly inputSchema: object;
  readonly outputSchema: object;
}

function plain({ $schema: _, ...schema }: { readonly $schema?: string }): object {
  return schema;
}

/**
 * Removes the parts of a schema that may differ between our tools and the official ones: the
 * descriptions, and the rule for unknown arguments.
 */
function withoutDescriptions(schema: object | undefined): unknown {
  return JSON.parse(JSON.stringify(schema ?? {}), (key, value: unknown) =>
    key === 'description' || key === '$schema' || key === 'additionalProperties' ? undefined : value,
  );
}

describe('the start of the filesystem dialect', () => {
  const start = async (places: Scratch, program: readonly string[], names: readonly string[]) => {
    mkdirSync(join(places.root, 'there'), { recursive: true });
    writeFileSync(join(places.root, 'file'), '');
    const paths = names.map((name) => join(places.root, name));
    const client = new RawClient([...program, ...paths], { env: environment(places) });
    const ended = client.exit().then(({ code }) => code);
    const code = await Promise.race([ended, client.said('running on stdio').then(() => 'runs')]);
    client.child.stdin.end();
    await ended;
    return { code, warnings: client.errors.match(/(?:Warning|Error): [^[\n]*\w/g) ?? [] };
  };

  it('reports a line that is not a message, and continues', async () => {
    const places = scratch();
    const client = new RawClient([PATH, '--dialect', 'filesystem', places.root], {
      env: environment(places),
    });
    await client.said('running on stdio');
    client.send('{"jsonrpc":"2.0", "method":"test", "params": ');
    expect(await client.request('ping')).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    await client.said('MCP filesystem transport error:');
    expect(await client.next()).toMatchObject({ id: null, error: { code: -32700 } });
  });

  it.each([
    ['a folder', ['there']],
    ['a folder and a missing one', ['missing', 'there']],
    ['a folder and a file', ['there', 'file']],
    ['missing folders only', ['missing', 'file']],
  ])('with %s prints the same messages and ends like the official server', async (_what, names) => {
    const places = scratch();
    const official = await start(places, [OFFICIAL], names);
    const ours = await start(places, [PATH, '--dialect', 'filesystem'], names);
    expect(ours).toEqual(official);
    expect(official.code).toBe(names.includes('there') ? 'runs' : 1);
  });
});
