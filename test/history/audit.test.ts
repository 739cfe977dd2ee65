import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findTranscripts } from '../../src/store/transcript-file.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/**
 * A home folder with a session log of Codex (a rollout), in which a command writes a file of the
 * workspace.
 */
function withRollout(places: Scratch, more: readonly object[] = []): string {
  const home = join(dirname(places.root), 'home');
  const file = join(home, '.codex/sessions/2026/11/15/rollout-1.jsonl');
  mkdirSync(dirname(file), { recursive: true });
  const call = { type: 'function_call', name: 'exec_command', call_id: 'c1' };
  const records = [
    { type: 'session_meta', payload: { cwd: places.root } },
    { type: 'response_item', payload: { ...call, arguments: JSON.stringify({ cmd: 'echo x > a.txt' }) } },
    ...more,
  ];
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return home;
}

/** Records of Codex for a command and its exit code. */
function ran(id: string, cmd: string, exit: number): readonly object[] {
  const output = `Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code ${exit}\nOutput:\n`;
  return [
    { type: 'function_call', name: 'exec_command', call_id: id, arguments: JSON.stringify({ cmd }) },
    { type: 'function_call_output', call_id: id, output },
  ].map((payload) => ({ type: 'response_item', payload }));
}

describe('lookfirst audit', () => {
  it('counts the commands of Codex that destroy work', async () => {
    const places = scratch();
    const more = [
      ...['1', '2', '3'].flatMap((id) => ran(id, 'git checkout .', 0)),
      ...ran('4', 'rm -rf src', 0),
      ...ran('5', 'git reset --hard', 128),
    ];
    const env = { HOME: withRollout(places, [...more, ...ran('4', 'rm -rf src', 0)]) };
    const { stdout } = await lookfirst(places, ['audit'], { env });
    expect(stdout).toMatch(/codex +1 +0 +7 +0 +0 +1 +4/);
    expect(stdout).toContain('  3 × git checkout . (uncommitted work)\n  1 × rm -rf (folders)\n');
    expect(stdout).not.toContain('reset');
    const [transcript, ...findings] = objects(await lookfirst(places, ['audit', '--json'], { env }));
    expect(transcript).toMatchObject({ destroyingCommands: 4, shellWrites: 1 });
    expect(findings).toContainEqual(
      expect.objectContaining({
        kind: 'destroying-command',
        command: 'rm -rf',
        work: 'folders',
        path: join(places.root, 'src'),
        callId: '4',
      }),
    );
  });

  it('finds the transcripts of this user and counts what went wrong', async () => {
    const places = scratch();
    const env = { HOME: withRollout(places) };
    const { code, stdout, stderr } = await lookfirst(places, ['audit'], { env });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('1 conversation changed files in');
    expect(stdout).toMatch(/codex +1 +0 +1 +0 +0 +1/);
    expect(stdout).toMatch(/shell write +a\.txt/);
  });

  it('prints each transcript and each finding as one JSON object per line', async () => {
    const places = scratch();
    const env = { HOME: withRollout(places) };
    const [transcript, finding] = objects(await lookfirst(places, ['audit', '--json'], { env }));
    expect(transcript).toMatchObject({ type: 'transcript', client: 'codex', commands: 1, shellWrites: 1 });
    expect(finding).toMatchObject({ type: 'finding', kind: 'shell-write', path: join(places.root, 'a.txt') });
  });

  it('looks where the variables of the clients say; an empty variable counts as unset', () => {
    const places = scratch();
    const home = withRollout(places);
    const moved = join(home, 'moved/.gemini/tmp/project/chats/session-1.jsonl');
    mkdirSync(dirname(moved), { recursive: true });
    writeFileSync(moved, '');
    const env = { CODEX_HOME: '', GEMINI_CLI_HOME: join(home, 'moved') };
    expect(findTranscripts({ home, env }, places.root)).toMatchObject([
      { client: 'codex' },
      { client: 'gemini', path: moved },
    ]);
  });

  it('says so if there are no transcripts', async () => {
    const places = scratch();
    const env = { HOME: withRollout(places) };
    const { code, stdout, stderr } = await lookfirst(places, ['audit', 'elsewhere'], { env });
    expect(code).toBe(0);
    expect(stdout).toContain('0 conversations changed files in');
    expect(stderr).toMatch(/^there is no folder .*elsewhere now/);
  });
});
