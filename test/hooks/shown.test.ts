// Only what the model was shown counts as seen, not what the hook got. The limits were measured with the real clients.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Replayed, ReplayedClient } from '../support/replayed-client.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;

beforeEach(() => {
  places = scratch();
  writeFileSync(join(places.home, 'lookfirst.json'), '{"partial": "lines"}');
});

/** Lines of 61 bytes, each different. */
function put(name: string, count: number): string {
  const lines = Array.from({ length: count }, (_, at) => `${`line ${at + 1} `.padEnd(59, 'abc')}.\n`);
  writeFileSync(join(places.root, name), lines.join(''));
  return lines.join('');
}

const line = (number: number): string => `line ${number} `;

async function isSeen(client: ReplayedClient, number: number): Promise<boolean> {
  const { denied } = await client.edit('a.txt', line(number), `LINE ${number} `);
  return !denied;
}

describe('the output of a command', () => {
  it.each<[Replayed, number, number[], number[]]>([
    // Over 30,000 characters: a preview of the first 2,000 bytes, cut at the end of a line.
    ['claude-code', 700, [1, 32], [33, 492, 700]],
    // Over 40,000 characters: the first 8,000 and the last 32,000.
    ['gemini', 700, [1, 130, 180, 700], [131, 172]],
    // Over 8,192 characters: the text is stored in a file, and the model is told its name.
    ['vscode', 700, [], [1, 32, 700]],
    ['cursor', 700, [], [1, 32, 700]],
    // Up to 50 KB: the whole text, though the part for the screen is shorter.
    ['opencode', 700, [1, 350, 700], []],
  ])('%s, %i lines: lines %j are seen, lines %j are not', async (name, count, seen, unseen) => {
    put('a.txt', count);
    const client = new ReplayedClient(places, name);
    await client.shell('cat a.txt');
    for (const number of unseen) expect(await isSeen(client, number), `line ${number}`).toBe(false);
    for (const number of seen) expect(await isSeen(client, number), `line ${number}`).toBe(true);
  });

  it.each<Replayed>(['claude-code', 'gemini', 'vscode', 'cursor'])(
    '%s: a long output does not license an overwrite, a short one does',
    async (name) => {
      const text = put('a.txt', 700);
      const client = new ReplayedClient(places, name);
      await client.shell('cat a.txt');
      expect(await client.write('a.txt', 'blind\n')).toMatchObject({ denied: true });
      put('b.txt', 100);
      await client.shell('cat b.txt');
      expect(await client.write('b.txt', text)).toMatchObject({ denied: false });
    },
  );
});

describe('Claude Code', () => {
  it('shows a preview of a search result over 20,000 characters', async () => {
    put('a.txt', 700);
    const client = new ReplayedClient(places, 'claude-code');
    const rows = (count: number) =>
      Array.from({ length: count }, (_, at) => `${at + 1}:${`line ${at + 1} `.padEnd(59, 'abc')}.`).join(
        '\n',
      );
    const search = (content: string) =>
      client.send({
        ...{ session_id: 'replayed', cwd: places.root, hook_event_name: 'PostToolUse', tool_name: 'Grep' },
        tool_input: { pattern: 'line', path: 'a.txt', output_mode: 'content', '-n': true, head_limit: 0 },
        tool_response: { mode: 'content', numFiles: 0, filenames: [], content, numLines: 400 },
        tool_use_id: 'search',
      });
    await search(rows(400));
    expect(await isSeen(client, 40)).toBe(false);
    expect(await isSeen(client, 20)).toBe(true);
    await search(rows(250));
    expect(await isSeen(client, 240)).toBe(true);
  });
});

describe('Cursor', () => {
  const base = () => ({ conversation_id: 'replayed', workspace_roots: [places.root] });

  it('is asked before a read whether the file may be read; the model may be shown only a part of it', async () => {
    const text = put('a.txt', 300);
    const client = new ReplayedClient(places, 'cursor');
    const file_path = join(places.root, 'a.txt');
    await client.send({ ...base(), hook_event_name: 'beforeReadFile', file_path, content: text });
    expect(await client.write('a.txt', 'blind\n')).toMatchObject({ denied: true });
    expect(await isSeen(client, 7)).toBe(true);
    await client.read('a.txt');
    expect(await client.write('a.txt', 'not blind\n')).toMatchObject({ denied: false });
  });
});
