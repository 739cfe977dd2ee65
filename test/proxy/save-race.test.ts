import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { PRESETS } from '../../src/config/presets.ts';
import type { PresetName } from '../../src/model/policy.ts';
import { attackSaves, type Server } from '../support/save-attack.ts';
import { type SharedProxy, serverForFile } from './harness.ts';

const ODD = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));
// The cast is safe: the keys of `PRESETS` are the names of presets.
const NAMES = Object.keys(PRESETS) as PresetName[];

describe.each<Server>(['official', 'unknown'])(
  'a user saves a file after an agent has read it: %s server',
  (server) => {
    it.each(NAMES)(
      'the agent’s write through the proxy never removes the saved bytes silently: %s',
      async (guard) => {
        expect(await attackSaves({ guard, server, pausesMs: [0, 1, 2, 5, 10, 20, 50], tries: 35 })).toBe(0);
      },
    );

    it('without the proxy, saves are lost', async () => {
      expect(await attackSaves({ guard: 'none', server, pausesMs: [0], tries: 5 })).toBe(5);
    });
  },
);

describe('before a server that no table describes', () => {
  const servers = new Map<PresetName, Promise<SharedProxy>>();
  let files = 0;

  afterAll(async () => {
    for (const server of servers.values()) await (await server).stop();
  });

  /** The server of this preset, and a file of the test's own. */
  async function open(preset: PresetName) {
    const server = servers.get(preset) ?? started(preset);
    servers.set(preset, server);
    const { client, root } = await server;
    files += 1;
    const path = join(root, `a${files}.ts`);
    writeFileSync(path, 'one\ntwo\nthree\n');
    return { client, path };
  }

  function started(preset: PresetName): Promise<SharedProxy> {
    const { quotes } = PRESETS[preset];
    return serverForFile(() => [ODD, 'nobody-knows-me'], { quotes, wording: preset }, { preset });
  }

  const REFUSING = NAMES.filter((name) => PRESETS[name].staleness !== 'warn');

  describe.each(['read_text_file', 'show', 'show_numbered', 'show_object'])(
    'and shows files with %s',
    (tool) => {
      it.each(REFUSING)('a new read after an outside change licenses the write: %s', async (preset) => {
        const { client, path } = await open(preset);
        await client.call(tool, { path });
        writeFileSync(path, 'one\nTWO\nthree\n');
        expect(await client.call('save', { file_path: path, text: 'mine\n' })).toMatchObject({
          code: 'STALE',
        });
        await client.call(tool, { path });
        expect(await client.call('save', { file_path: path, text: 'other\n' })).toMatchObject({ ok: true });
        expect(readFileSync(path, 'utf8')).toBe('other\n');
      });
    },
  );

  it.each([
    ['top', (path: string, text: string) => ({ file_path: path, text })],
    ['nested', (path: string, text: string) => ({ params: { file_path: path, text } })],
    ['in JSON text', (path: string, text: string) => ({ params: JSON.stringify({ file_path: path, text }) })],
  ] as const)(
    'typographic quotes are straightened, and the answer says so: arguments at the %s',
    async (_where, args) => {
      const { client, path } = await open('staleness');
      await client.call('read_text_file', { path });
      const { ok, text } = await client.call('save', args(path, 'const a = \u201cb\u201d;\n'));
      expect([ok, text]).toEqual([true, expect.stringContaining('2 typographic quotes')]);
      expect(readFileSync(path, 'utf8')).toBe('const a = "b";\n');
    },
  );
});
