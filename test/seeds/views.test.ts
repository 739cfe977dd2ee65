import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../src/dialect/tool.ts';
import type { PresetName } from '../../src/model/policy.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { ReplayedClient } from '../support/replayed-client.ts';
import { scratch } from '../support/tree.ts';
import { allowed, type Door, openScene, refused, type Scene } from './doors.ts';

/**
 * Three systems ask for a read of a file before it is changed. There, a diff, a search hit and a
 * command's output show the file, but are no read of it.
 */
const SEEDS: readonly PresetName[] = ['sandbox', 'file-time', 'thread-history'];
const LINES = Array.from({ length: 400 }, (_, at) => `line ${at + 1} end`);
const TEXT = `${LINES.join('\n')}\n`;
const PATH = 'a.txt';

/** A way to show an unread file without reading it. */
interface View {
  readonly what: string;
  readonly doors: readonly Door[];
  readonly dialect?: DialectName;
  show(t: Scene): Promise<unknown>;
}

const COMMANDS: readonly Door[] = ['library', 'server', 'hooks'];

const VIEWS: readonly View[] = [
  // `$f` hides the file's name, so that hooks do not judge the command as an edit.
  {
    what: 'the diff of a command',
    doors: COMMANDS,
    show: (t) => t.run(`f=${PATH}; sed -i 's/^line 7 .*/CHANGED/' $f`),
  },
  { what: 'the output of a command', doors: COMMANDS, show: (t) => t.run(`head -n 20 ${PATH}`) },
  { what: 'a search by a command', doors: COMMANDS, show: (t) => t.run(`grep -n 'line 7 ' ${PATH}`) },
  { what: 'a search', doors: COMMANDS, show: (t) => t.search('line 7 ') },
  {
    what: 'the diff of a dry run',
    doors: ['library', 'server', 'proxy'],
    dialect: 'filesystem',
    show: (t) => t.dryRun(PATH, 'line 7 end', 'CHANGED'),
  },
];

describe.each(SEEDS)('preset %s', (preset) => {
  it.each(VIEWS.flatMap((view) => view.doors.map((door) => ({ ...view, door }))))(
    '$door: $what is no read of the file',
    async ({ door, dialect, show }) => {
      const t = await openScene(door, { preset, ...(dialect === undefined ? {} : { dialect }) });
      t.put(PATH, TEXT);
      await show(t);
      const before = t.text(PATH);
      await refused(t.write(PATH, 'blind\n'), 'NOT_READ');
      await refused(t.edit(PATH, 'line 9 end', 'blind'), 'NOT_READ');
      if (door !== 'hooks' && dialect === undefined) await refused(t.insert(PATH, 'blind\n', 7), 'NOT_READ');
      expect(t.text(PATH)).toBe(before);
      await allowed(t.read(PATH));
      await allowed(t.edit(PATH, 'line 9 end', 'seen'));
      await allowed(t.write(PATH, 'seen\n'));
    },
  );

  it('hasBeenRead is false after every such view, and true after a read', async () => {
    const { session, put } = await desk({ preset });
    await put(PATH, TEXT);
    await ok(session.run(`sed -i 's/^line 7 .*/CHANGED/' ${PATH}; cat ${PATH}`));
    await ok(session.search('line 9 '));
    await ok(
      session.preview([{ kind: 'edit', path: PATH, edits: [{ oldString: 'line 9 end', newString: 'x' }] }]),
    );
    expect(await session.hasBeenRead(PATH)).toBe(false);
    await ok(session.markRead(PATH));
    expect(await session.hasBeenRead(PATH)).toBe(true);
  });

  it('moves, copies and the undo of a command keep what was read and what was not', async () => {
    const { session, put } = await desk({ preset });
    for (const name of ['read.txt', 'unread.txt']) await put(name, TEXT.replace('line 1 ', `${name} `));
    await ok(session.read('read.txt'));
    await ok(session.run(`sed -i 's/^line 7 .*/CHANGED/' read.txt unread.txt`));
    await ok(session.undo());
    const files = async () => {
      const names = [
        'read.txt',
        'unread.txt',
        'read-copy.txt',
        'unread-copy.txt',
        'read-moved.txt',
        'unread-moved.txt',
      ];
      return Object.fromEntries(
        await Promise.all(names.map(async (name) => [name, await session.hasBeenRead(name)])),
      );
    };
    for (const name of ['read', 'unread']) {
      await ok(session.copy(`${name}.txt`, `${name}-copy.txt`));
      await ok(session.move(`${name}.txt`, `${name}-moved.txt`));
    }
    expect(await files()).toEqual({
      'read.txt': false,
      'unread.txt': false,
      'read-copy.txt': true,
      'unread-copy.txt': false,
      'read-moved.txt': true,
      'unread-moved.txt': false,
    });
    await refusal(session.write('unread-moved.txt', 'blind\n'), 'NOT_READ');
    await ok(session.write('read-moved.txt', 'seen\n'));
  });

  it('a file that was read stays read when a command of the session changes it', async () => {
    const { session, put } = await desk({ preset });
    await put(PATH, TEXT);
    await ok(session.read(PATH));
    await ok(session.run(`sed -i 's/^line 7 .*/CHANGED/' ${PATH}`));
    expect(await session.hasBeenRead(PATH)).toBe(true);
    await ok(session.edit(PATH, [{ oldString: 'line 9 end', newString: 'x' }]));
  });

  it.each([
    ['codex', true],
    ['claude-code', false],
    ['gemini', false],
  ] as const)('%s: printing a file with its shell is a read of it: %s', async (client, isRead) => {
    const places = scratch();
    writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ preset }));
    const text = 'one\ntwo\nthree\n';
    for (const command of ['cat a.txt', 'sed -n 1,2p a.txt', 'head -n 2 a.txt']) {
      writeFileSync(join(places.root, PATH), text);
      const agent = new ReplayedClient(places, client);
      agent.session = command;
      await agent.shell('grep -n two a.txt');
      await agent.shell('cat a.txt | grep two');
      expect((await agent.edit(PATH, 'two\n', 'blind\n')).denied).toBe(true);
      await agent.shell(command);
      expect((await agent.edit(PATH, 'two\n', 'seen\n')).denied).toBe(!isRead);
    }
  });

  it.each([
    ['a search', { name: 'Grep', input: { pattern: 'two' }, result: `${PATH}:2:two` }, false],
    ['a read', { name: 'Read', input: { file_path: PATH }, result: '     1\tone\n     2\ttwo' }, true],
  ])('%s in a transcript is a read: %s', async (_what, { name, input, result }, isRead) => {
    const { session, put } = await desk({ preset });
    await put(PATH, 'one\ntwo\n');
    const transcript = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name, input }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: result }] },
    ];
    await session.resumeFrom(transcript, { format: 'anthropic-messages' });
    expect(await session.hasBeenRead(PATH)).toBe(isRead);
  });
});

// The control: by default, such views count for the lines that they show. Commands in the library
// and at the server show diffs, hooks compare output with files.
const COUNTS: Readonly<Record<string, readonly Door[]>> = {
  'the diff of a command': ['library', 'server'],
  'the output of a command': ['hooks'],
  'a search by a command': ['hooks'],
  'a search': ['hooks'],
  'the diff of a dry run': ['library', 'server', 'proxy'],
};

it.each(VIEWS.flatMap((view) => (COUNTS[view.what] ?? []).map((door) => ({ ...view, door }))))(
  'preset default, $door: $what licenses edits, not overwrites',
  async ({ door, dialect, show }) => {
    const t = await openScene(door, { preset: 'default', ...(dialect === undefined ? {} : { dialect }) });
    t.put(PATH, TEXT);
    await show(t);
    await refused(t.write(PATH, 'blind\n'), 'PARTIALLY_READ');
    await allowed(t.edit(PATH, 'line 9 end', 'seen'));
  },
);
