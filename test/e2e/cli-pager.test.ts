import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { environment, lookfirst, PROGRAM } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const TERMINAL = 'script';
const hasTerminal = spawnSync(TERMINAL, ['--version']).status === 0;
const MARK = 'sed s/^/PAGED:/';

/** Runs a command on a terminal with this many rows. */
function onTerminal(
  places: Scratch,
  args: readonly string[],
  env: Record<string, string>,
  rows = 10,
): string {
  const command = [...PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  const options = { cwd: places.root, env: environment(places, env), encoding: 'utf8' } as const;
  const line = `stty rows ${rows} cols 100; ${command}`;
  return spawnSync(TERMINAL, ['-qec', line, '/dev/null'], options).stdout;
}

describe.skipIf(!hasTerminal)('the pager', () => {
  it('shows a long answer on a terminal: LOOKFIRST_PAGER, then PAGER', () => {
    const places = scratch();
    const help = ['log', '--help'];
    expect(onTerminal(places, help, { LOOKFIRST_PAGER: MARK })).toMatch(/^PAGED:Usage: lookfirst log/);
    expect(onTerminal(places, help, { PAGER: MARK })).toMatch(/^PAGED:Usage: lookfirst log/);
    expect(onTerminal(places, help, { LOOKFIRST_PAGER: 'cat', PAGER: MARK })).not.toContain('PAGED');
    expect(onTerminal(places, help, { LOOKFIRST_PAGER: '', PAGER: MARK })).not.toContain('PAGED');
    expect(onTerminal(places, ['config'], { PAGER: MARK })).toContain('PAGED:');
  });

  it('is not used for a short answer, for JSON, or if it is not installed', () => {
    const places = scratch();
    expect(onTerminal(places, ['version'], { PAGER: MARK })).not.toContain('PAGED');
    expect(onTerminal(places, ['log', '--help'], { PAGER: MARK }, 200)).not.toContain('PAGED');
    expect(onTerminal(places, ['config', '--json'], { PAGER: MARK })).not.toContain('PAGED');
    const without = onTerminal(places, ['log', '--help'], { PAGER: 'no-such-pager' });
    expect(without).toContain('Usage: lookfirst log');
    expect(without).not.toContain('Error');
  });

  it('goes on after Ctrl-C, and the command waits for it', () => {
    const places = scratch();
    const command = [...PROGRAM, 'config'].map((word) => `'${word}'`).join(' ');
    // The pager sends SIGINT to its parent, the command, as a terminal does after Ctrl-C.
    const env = environment(places, { PAGER: `kill -INT $PPID; sleep 0.3; ${MARK}` });
    const line = `stty rows 10 cols 100; ${command}; echo "exit $?"`;
    const options = { cwd: places.root, env, encoding: 'utf8' } as const;
    const { stdout } = spawnSync(TERMINAL, ['-qec', line, '/dev/null'], options);
    expect(stdout).toMatch(/PAGED:[\s\S]*\r\nexit 0\r\n$/);
  });

  it('may be closed at once without an error', () => {
    expect(onTerminal(scratch(), ['config'], { PAGER: 'true' })).toBe('');
  });
});

describe('output to another program', () => {
  it('never goes through a pager', async () => {
    const ran = await lookfirst(scratch(), ['config'], { env: { LOOKFIRST_PAGER: MARK, PAGER: MARK } });
    expect(ran).toMatchObject({ code: 0, stdout: expect.not.stringContaining('PAGED') });
  });
});
