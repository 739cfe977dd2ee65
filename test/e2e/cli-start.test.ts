import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environment, lookfirst, PROGRAM } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const TERMINAL = 'script';
const hasTerminal = spawnSync(TERMINAL, ['--version']).status === 0;

/** A machine on which Claude Code and Codex are installed, as far as PATH tells. */
function machine(): { readonly places: Scratch; readonly env: Record<string, string> } {
  const places = scratch();
  const bin = join(places.base, 'bin');
  const home = join(places.base, 'user');
  for (const folder of [bin, home]) mkdirSync(folder, { recursive: true });
  for (const name of ['claude', 'codex']) {
    writeFileSync(join(bin, name), '#!/bin/sh\n');
    chmodSync(join(bin, name), 0o755);
  }
  return { places, env: { PATH: `${bin}:${process.env['PATH']}`, HOME: home, CLAUDECODE: '' } };
}

/** Types `lookfirst` on a terminal, then the answer. */
function typed(answer: string): { readonly places: Scratch; readonly shown: string } {
  const { places, env } = machine();
  const command = PROGRAM.map((word) => `'${word}'`).join(' ');
  const shown = spawnSync(TERMINAL, ['-qec', `stty cols 120; ${command}`, '/dev/null'], {
    cwd: places.root,
    env: environment(places, env),
    input: `${answer}\n`,
    encoding: 'utf8',
  }).stdout;
  return { places, shown };
}

describe.skipIf(!hasTerminal)('lookfirst alone on a terminal', () => {
  it('adds Lookfirst to the chosen client and checks it', () => {
    const { places, shown } = typed('1');
    expect(shown).toMatch(/conversations? changed files/);
    expect(shown).toMatch(/1 {2}Claude Code\r\n +2 {2}Codex/);
    expect(shown).toMatch(/a blind write was denied/);
    const settings = readFileSync(join(places.root, '.claude/settings.local.json'), 'utf8');
    expect(settings).toContain('lookfirst-hook');
  });

  it('changes nothing if the user chooses no client', () => {
    const { places, shown } = typed('');
    expect(shown).toContain('Nothing was changed.');
    expect(existsSync(join(places.root, '.claude'))).toBe(false);
  });
});

it('init without a client lists the clients found here', async () => {
  const { places, env } = machine();
  const { code, stdout } = await lookfirst(places, ['init'], { env });
  expect(stdout).toContain('  lookfirst init claude-code --hooks\n  lookfirst init codex --hooks\n');
  expect(code).toBe(0);
});

it('init prints one line for each file and one next step; --dry-run shows the diff', async () => {
  const { places, env } = machine();
  const preview = await lookfirst(places, ['init', 'claude-code', '--hooks', '--dry-run'], { env });
  expect(preview.stdout).toMatch(
    /^would add to Claude Code: an MCP server and checks of its own file and shell tools$/m,
  );
  expect(preview.stdout).toMatch(/^would create .*\n[\s\S]*^\+.*lookfirst-hook/m);
  const { stdout } = await lookfirst(places, ['init', 'claude-code', '--hooks'], { env });
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^added to Claude Code: /);
  expect(lines.at(-1)).toMatch(/^Next: /);
  for (const line of lines.slice(1, -1)) expect(line).toMatch(/^(created|changed) \/\S+$/);
});

it('init prints one line for a file that gets both the server and the hooks', async () => {
  const { places, env } = machine();
  const { stdout } = await lookfirst(places, ['init', 'gemini', '--hooks'], { env });
  expect(stdout.match(/settings\.json/g)).toHaveLength(1);
});
