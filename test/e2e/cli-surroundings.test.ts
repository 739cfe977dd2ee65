import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environment, PROGRAM } from '../support/command-line.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const COMMANDS = ['status', 'log', 'config', 'serve', 'doctor', 'view --no-open'];

describe('a state folder that is a file', () => {
  it.each(COMMANDS.filter((line) => line !== 'doctor'))('is named, with the cure: %s', (line) => {
    const places = scratch();
    const file = join(places.root, 'a-file');
    writeFileSync(file, '');
    const ran = run(places, line, { LOOKFIRST_HOME: file });
    expect(ran.stderr).toContain(`the state folder ${file} is a file; set LOOKFIRST_HOME to a folder`);
    expect(ran).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('a policy file with a mistake', () => {
  it.each(['config', 'serve'])('is named with line and column: %s', (line) => {
    const places = scratch();
    mkdirSync(places.home, { recursive: true });
    writeFileSync(join(places.home, 'lookfirst.json'), '{\n  // why\n  "staleness": merge\n}\n');
    const ran = run(places, line);
    expect(ran.stderr).toContain('lookfirst.json:3:16: this word needs double quotes [CONFIG_INVALID]');
    expect(ran.status).toBe(1);
  });
});

it.each(['demo', 'doctor'])('a temporary folder that is missing is named, with the cure: %s', (line) => {
  const ran = run(scratch(), line, { TMPDIR: '/nowhere', TMP: '/nowhere', TEMP: '/nowhere' });
  expect(ran.stderr).toMatch(
    /^lookfirst: the temporary folder cannot be used: .+ \(ENOENT\); set TMPDIR to a folder .+ \[IO_FAILED\]\n$/,
  );
  expect(ran).toMatchObject({ status: 1, stdout: '' });
});

const NOBODY = { uid: 54_321, gid: 54_321 };
/** Only root may start a process as another user, who must be able to read the program. */
const canBeNobody =
  process.getuid?.() === 0 && spawnSync('test', ['-r', PROGRAM[1] ?? ''], NOBODY).status === 0;

describe.skipIf(!canBeNobody)('a user without an account and without HOME', () => {
  it.each(COMMANDS)('is told what to set: %s', (line) => {
    const ran = runHomeless(line);
    expect(ran.stderr).toMatch(
      /^lookfirst: no home folder is known: set \w+ to an absolute path \[CONFIG_INVALID\]$/m,
    );
    expect(ran.stderr).not.toMatch(/\n\s+at /);
    expect(ran.status).toBe(1);
  });

  it.each(['--version', '--help', 'log --help'])('gets help and version: %s', (line) => {
    expect(runHomeless(line)).toMatchObject({ status: 0, stderr: '' });
  });
});

function runHomeless(line: string): Ran {
  return run(scratch(), line, { HOME: undefined, LOOKFIRST_HOME: undefined }, NOBODY);
}

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(
  places: Scratch,
  line: string,
  env: Readonly<Record<string, string | undefined>> = {},
  user: Partial<typeof NOBODY> = {},
): Ran {
  const [node = '', ...program] = PROGRAM;
  const { status, stdout, stderr } = spawnSync(node, [...program, ...line.split(' ')], {
    cwd: user.uid === undefined ? places.root : '/',
    env: { ...environment(places), ...env },
    ...user,
    encoding: 'utf8',
    input: '',
  });
  return { status, stdout, stderr };
}
