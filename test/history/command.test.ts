import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { environment, lookfirst, objects, PROGRAM } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/transcripts/', import.meta.url));

/** A folder with one of the captured transcripts in it. */
function withTranscript(name: string): Scratch {
  const places = scratch();
  copyFileSync(join(FIXTURES, name), join(places.root, name));
  return places;
}

const BIG = 40 << 20;
/** The program that runs a command on a terminal of its own. */
const TERMINAL = 'script';
const hasTerminal = spawnSync(TERMINAL, ['--version']).status === 0;

/** A transcript that takes a moment to read: real records, and many lines that show no file. */
function bigTranscript(places: Scratch): string {
  const file = join(places.root, 'big.jsonl');
  copyFileSync(join(FIXTURES, 'claude-code-agent.jsonl'), file);
  const line = `${JSON.stringify({ type: 'summary', summary: 'x'.repeat(4000) })}\n`;
  writeFileSync(file, line.repeat(Math.ceil(BIG / line.length)), { flag: 'a' });
  return file;
}

describe('lookfirst history', () => {
  it('lists what a model has in its context, file by file', async () => {
    const places = withTranscript('codex.jsonl');
    const { code, stdout, stderr } = await lookfirst(places, ['history', 'codex.jsonl']);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(
      lines.map((line) => line.replace(/ {2,}/g, '|').replace(/\|[^|]*ago$|\|2026[^|]*$|\|in [^|]*$/, '')),
    ).toEqual([
      'codex transcript, 36 records: 5 files in context',
      'PATH|LINES|HOW|WHEN',
      '/repo/src/c.txt|1-2|read',
      '/repo/new.txt|whole|write',
      '/repo/a.txt|whole|read, edit',
      '/repo/no-newline.txt|whole|read',
      '/repo/b.txt|3-7|read',
    ]);
  });

  it('starts the relative paths of Gemini CLI in the project folder that it recorded', async () => {
    const places = scratch();
    const chats = join(places.root, 'project', 'chats');
    mkdirSync(chats, { recursive: true });
    copyFileSync(join(FIXTURES, 'gemini.jsonl'), join(chats, 'session-1.jsonl'));
    writeFileSync(join(places.root, 'project', '.project_root'), '/work-of/me\n');
    const pathsOf = async (...flags: string[]) =>
      objects(await lookfirst(places, ['history', 'project/chats/session-1.jsonl', '--json', ...flags]))
        .slice(1)
        .map((sighting) => String(sighting['path']));
    expect((await pathsOf()).some((path) => path.startsWith('/work-of/me/'))).toBe(true);
    expect((await pathsOf('--cwd', '/other')).some((path) => path.startsWith('/other/'))).toBe(true);
  });

  it('prints the transcript and each sighting as one JSON object per line', async () => {
    const places = withTranscript('gemini.jsonl');
    const [head, ...sightings] = objects(
      await lookfirst(places, ['history', 'gemini.jsonl', '--cwd', '/repo', '--json']),
    );
    expect(head).toEqual({
      type: 'transcript',
      format: 'gemini',
      records: 58,
      skipped: { count: 0, reasons: {} },
    });
    expect(sightings).toHaveLength(8);
    expect(sightings[1]).toMatchObject({
      type: 'sighting',
      path: '/repo/b.txt',
      coverage: { kind: 'lines', ranges: [{ from: 3, to: 7 }] },
      how: 'read',
    });
  });

  it('omits files outside --root', async () => {
    const places = withTranscript('codex.jsonl');
    const rows = objects(
      await lookfirst(places, ['history', 'codex.jsonl', '--root', '/repo/src', '--json']),
    );
    expect(rows.slice(1).map((row) => row['path'])).toEqual(['/repo/src/c.txt']);
  });

  it.each<[string, string[], number, RegExp]>([
    ['a missing file', ['history', 'none.jsonl'], 1, /none\.jsonl: there is no such file/],
    ['a folder', ['history', '.'], 1, /is not a file/],
    [
      'a file that is not a transcript',
      ['history', 'words.txt'],
      1,
      /not a transcript of a known format: .*the known formats are thread-events/,
    ],
    ['an unknown format', ['history', 'codex.jsonl', '--format', 'word'], 64, /word.*thread-events/s],
    ['nothing', ['history'], 64, /FILE is missing/],
  ])('reports %s', async (_, args, code, message) => {
    const places = withTranscript('codex.jsonl');
    writeFileSync(join(places.root, 'words.txt'), 'Dear diary\n');
    const ran = await lookfirst(places, args);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toMatch(message);
    expect(ran.stderr).not.toMatch(/ {4}at /);
  });

  it.skipIf(!hasTerminal)('shows progress on a terminal for big files', () => {
    const places = scratch();
    bigTranscript(places);
    copyFileSync(join(FIXTURES, 'codex.jsonl'), join(places.root, 'small.jsonl'));
    const [big, small] = ['big.jsonl', 'small.jsonl'].map((name) =>
      onTerminal(places, ['history', name, '--json']),
    );
    expect(big).toMatch(/reading \[#+-*\] \d+ %/);
    expect(big).toContain('/repo/src/c.txt');
    expect(small).not.toContain('reading');
  });

  it('shows no progress if stderr is not a terminal', async () => {
    const places = scratch();
    bigTranscript(places);
    const { code, stderr } = await lookfirst(places, ['history', 'big.jsonl']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

/** Runs the program on a terminal. Returns everything that the terminal receives. */
function onTerminal(places: Scratch, args: readonly string[]): string {
  const command = [...PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  return execFileSync(TERMINAL, ['-qec', command, '/dev/null'], {
    cwd: places.root,
    env: { ...environment(places), TERM: 'xterm' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
