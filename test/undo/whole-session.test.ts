import { describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { shellPrefix } from '../support/layered.ts';
import { type Replayed, ReplayedClient, type Replied } from '../support/replayed-client.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import {
  bytesIn,
  EDITS,
  mixedRepository,
  READ_FIRST,
  refsOf,
  shellLines,
  type Way,
} from '../support/whole-session.ts';

const here = await sandboxHere();

function allowed(reply: Replied): void {
  expect(reply).toMatchObject({ denied: false });
}

describe.each(['claude-code', 'codex', 'gemini', 'opencode'] as const)(
  'an undo of a whole session of %s',
  (name) => {
    const ways: readonly Way[] =
      name === 'claude-code' && here !== undefined ? ['without a layer', 'on layers'] : ['without a layer'];
    it.each(ways)('%s restores every byte', async (way) => {
      const places = scratch();
      mixedRepository(places.root);
      const [before, refs] = [bytesIn(places.root, way), refsOf(places.root)];
      const client = clientOf(name, places, way);
      for (const file of READ_FIRST) await client.read(file);
      for (const edit of EDITS) allowed(await client.edit(...edit));
      allowed(await client.write('made/by/tool.txt', 'made\n'));
      for (const line of shellLines(places.outside)) allowed(await client.shell(line));
      expect(bytesIn(places.root, way)).not.toEqual(before);
      const undone = await lookfirst(places, ['undo', '--session', client.session, '--yes']);
      expect(undone).toMatchObject({ code: 0, stderr: '' });
      expect(bytesIn(places.root, way)).toEqual(before);
      if (way === 'on layers') expect(refsOf(places.root)).toBe(refs);
    });
  },
);

function clientOf(name: Replayed, places: Scratch, way: Way): ReplayedClient {
  const client = new ReplayedClient(places, name);
  if (way === 'without a layer') return client;
  client.shellPrefix = shellPrefix(places);
  return client;
}
