import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/cli.ts';
import { COMMANDS } from '../../src/cli/command-list.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

describe('exit codes', () => {
  it('are those of the contract', () => {
    expect(EXIT).toEqual({ done: 0, fault: 1, refused: 2, usage: 64 });
  });
});

describe('help', () => {
  it('has at most 24 commands, in five groups', () => {
    expect(COMMANDS.length).toBeLessThanOrEqual(24);
    expect(new Set(COMMANDS.map(({ group }) => group)).size).toBe(5);
  });

  it('has the same form for every command', async () => {
    const places = scratch();
    const pages: string[] = [];
    for (const args of [['--help'], ...COMMANDS.map(({ name }) => [name, '--help'])]) {
      const { code, stdout, stderr } = await lookfirst(places, args);
      expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' });
      pages.push(`$ lookfirst ${args.join(' ')}\n${stdout}`);
    }
    expect(
      pages
        .join('\n')
        .split('\n')
        .filter((line) => line.length > 100),
    ).toEqual([]);
    await expect(pages.join('\n')).toMatchFileSnapshot('__snapshots__/help.txt');
  });

  it('of a command is the same as `help COMMAND` and `COMMAND --help`', async () => {
    const places = scratch();
    for (const name of ['log', 'serve']) {
      const spellings = [await lookfirst(places, ['help', name]), await lookfirst(places, [name, '--help'])];
      expect(spellings[0]?.stdout).toBe(spellings[1]?.stdout);
    }
  });

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const words = COMMANDS.map(({ name }) => [name, '--version']);
    for (const args of [['--version'], ['-v'], ['log', '-v'], ['serve', '-v'], ['hook', '-v'], ...words]) {
      const ran = await lookfirst(scratch(), args);
      expect({ args, ...ran }).toEqual({ args, code: 0, stdout: `${version}\n`, stderr: '' });
    }
  });
});

describe('a command whose output belongs to a protocol', () => {
  it.each(['serve', 'proxy', 'hook'])('%s refuses flags for the form of an answer', async (name) => {
    for (const flag of [['--json'], ['--date', 'iso']]) {
      const { code, stdout, stderr } = await lookfirst(scratch(), [name, ...flag]);
      expect({ code, stdout }).toEqual({ code: name === 'hook' ? 2 : EXIT.usage, stdout: '' });
      expect(stderr).toContain(`unknown option '${flag[0]}'`);
    }
  });
});

describe('something that is not there', () => {
  it.each([
    [
      ['undo', '--session', 'nosuch'],
      'lookfirst: there is no session "nosuch" [NOT_FOUND]\nlookfirst sessions --all',
    ],
    [
      ['view', '--export', 'nosuch'],
      'there is no turn, change or refusal nosuch here [NOT_FOUND]\nlookfirst rewind lists',
    ],
  ])('is named, with the command that lists what there is: %j', async (args, message) => {
    const { code, stdout, stderr } = await lookfirst(scratch(), args);
    expect({ code, stdout }).toEqual({ code: EXIT.refused, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('is named with its full path if it is a mistake in the policy file', async () => {
    const places = scratch();
    writeFileSync(join(places.home, 'lookfirst.json'), '{');
    for (const args of [['serve'], ['proxy', '--', 'cat']])
      expect((await lookfirst(places, args)).stderr).toContain(
        `${join(places.home, 'lookfirst.json')}:1:2: `,
      );
  });
});

describe('an old spelling', () => {
  it('works, and says on stderr what to type now', async () => {
    const places = scratch();
    const [old, present] = [
      await lookfirst(places, ['report']),
      await lookfirst(places, ['audit', '--observed']),
    ];
    expect(old).toEqual({
      ...present,
      stderr: 'lookfirst: report is now audit --observed; the old spelling goes with the next version\n',
    });
  });
});

describe('an invalid command line', () => {
  it.each([
    [['lgo'], "unknown command 'lgo'. Did you mean log?"],
    [['statsu'], 'Did you mean status?'],
    [['xyzzyxyzzy'], "unknown command 'xyzzyxyzzy' [INVALID_ARGUMENT]\n"],
    [['--hlep'], "lookfirst: unknown option '--hlep'. Did you mean --help?"],
    [['log', '--jsn'], "lookfirst: unknown option '--jsn'. Did you mean --json?"],
    [['log', 'extra'], "lookfirst: unexpected argument 'extra'"],
    [['config', 'get', 'secrets', 'show'], "lookfirst: unexpected argument 'show'"],
    [['serve', ''], 'lookfirst: DIR is empty'],
    [['help', '--nonsense'], "lookfirst: unknown option '--nonsense' [INVALID_ARGUMENT]\n"],
    [['serve', '--session', 'a\nb'], "lookfirst: --session 'a b' is invalid."],
    [['log', '--since', 'yesterday'], 'Use a time ago, as in 2h or 3d'],
    [
      ['log', '--kind', 'write'],
      "lookfirst: --kind 'write' is invalid. Choose from read, look, change, refusal",
    ],
    [
      ['log', '--kind', 'chnage'],
      "lookfirst: --kind 'chnage' is invalid. Did you mean change? Choose from read,",
    ],
    [['log', '--limit', 'many'], "lookfirst: --limit 'many' is invalid. It must be a whole number."],
    [['log', '--session'], 'lookfirst: --session needs a value'],
    [['log', '--date', 'foo'], "lookfirst: unknown --date 'foo'. Choose from relative, iso."],
    [['gc', '--purge', '--older-than', '3d'], '--purge cannot be combined with --older-than or --quota'],
    [['allow'], 'lookfirst: PATH is missing'],
    [['allow', '--list', '--once'], '--list cannot be combined with a path or another option'],
    [['allow', '--list', '--session', 'a'], '--list cannot be combined with a path or another option'],
    [['config', 'get'], 'lookfirst: KEY is missing'],
    [['config', 'get', 'nope'], "lookfirst: unknown setting 'nope' [INVALID_ARGUMENT]\n"],
    [['config', 'get', 'partal'], "lookfirst: unknown setting 'partal'. Did you mean partial?"],
    [['serve', '--show-config'], 'lookfirst: --show-config needs --http'],
    [['serve', '--allow-undo', '.'], 'lookfirst: --allow-undo needs --http'],
    [['run', '--network', '--', 'true'], 'lookfirst: --network needs --confine'],
    [['run', '--apply', 'c1', '--', 'true'], 'lookfirst: either a command or --apply, not both'],
    [['log', '--since', '1h', '--until', '2h'], 'lookfirst: --since is later than --until'],
    [['log', '--verify', '--follow'], 'lookfirst: --verify cannot be combined with --follow'],
    [['run'], 'lookfirst: COMMAND is missing: put -- and the command at the end'],
    [['gc', '--older-than', '0d'], '0 means no limit, so everything would be kept'],
    [['gc', '--quota', '0'], '0 means no limit, so everything would be kept'],
    [['remove'], 'lookfirst: CLIENT is missing'],
    [
      ['init', 'claude'],
      "lookfirst: unknown client 'claude'. Did you mean claude-code? Choose from claude-code,",
    ],
    [['sessions', 'fogret', 'x'], "lookfirst: unknown action 'fogret'. Did you mean forget?"],
    [['completion', 'bsh'], "lookfirst: unknown shell 'bsh'. Did you mean bash?"],
    [
      ['log', '--color', 'alway'],
      "lookfirst: unknown --color 'alway'. Did you mean always? Choose from auto,",
    ],
    [['serve', '--dialect', 'lase'], "lookfirst: unknown --dialect 'lase'. Did you mean lace?"],
    [['init', 'cursor', '--root', 'nowhere'], 'there is no folder nowhere'],
    [['history'], 'lookfirst: FILE is missing'],
    [['proxy', '--root', '.'], 'COMMAND is missing: put -- and the command of the server at the end'],
    [['proxy', '--url', 'http://localhost/mcp', '--', 'server'], 'either a command or --url, not both'],
    [
      ['proxy', '--root', '.', '--', ''],
      'COMMAND is missing: put -- and the command of the server at the end',
    ],
    [['allow', ''], 'lookfirst: PATH is empty'],
    [['gc', '--purge', 'a.txt', ''], 'lookfirst: --purge needs a value'],
    [['log', '--root', ''], 'lookfirst: --root needs a value'],
    [['view', ''], 'lookfirst: DIR is empty'],
    [['view', '--markdown'], 'lookfirst: --markdown is for --export: name a turn, a change or a refusal'],
    [['proxy', '--url', 'ftp://localhost/mcp'], '--url takes an http or https address, not ftp:'],
  ])('%j ends with 64 and says what to do', async (args, words) => {
    const ran = await lookfirst(scratch(), args);
    expect(ran).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining(words) });
  });
});

describe('a message that names what is missing', () => {
  it.each([
    [['undo', 'c0000000000'], 2, 'Nothing was changed. lookfirst log --kind change lists the changes.\n'],
    [['diff', 'c0000000000'], 2, '[NOT_FOUND]\nlookfirst log --kind change lists the changes.\n'],
    [['hook', '--nonsense'], 2, "lookfirst: unknown option '--nonsense' (lookfirst hook --help"],
    [['proxy', '--', 'no-such-program'], 1, 'there is no program no-such-program [CONFIG_INVALID]'],
    [
      ['proxy', '--workspace', 'w', '--shared-workspace', '--', 'no-such-program'],
      1,
      'a workspace name and a shared workspace need a store that machines share',
    ],
  ])('%j', async (args, code, words) => {
    const ran = await lookfirst(scratch(), args);
    expect(ran).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });
});

it('the proxy expands ~ in the names of folders, because clients start it without a shell', async () => {
  const places = scratch();
  const home = join(places.base, 'user');
  mkdirSync(join(home, 'project'), { recursive: true });
  const folders = ['--root', '~/project', '--read-only-root', '~/project'];
  const ran = await lookfirst(places, ['proxy', ...folders, '--', 'no-such-program'], {
    env: { HOME: home },
  });
  expect(ran.stderr).toContain('there is no program no-such-program');
});

describe('settings', () => {
  it('that all commands share are accepted by every command that uses the state', async () => {
    const places = scratch();
    writeFileSync(join(places.base, 'policy.json'), '{}');
    const common =
      '--dialect lace --preset strict --policy ../policy.json --session s --read-only --json --color never --date iso';
    const looking = [
      'status',
      'log',
      'diff',
      'undo',
      'sessions',
      'gc',
      'doctor',
      'rewind',
      'claims',
      'audit --observed',
    ];
    for (const command of looking) {
      const { code, stderr } = await lookfirst(places, [...command.split(' '), ...common.split(' ')]);
      expect(code, `${command}: ${stderr}`).not.toBe(EXIT.usage);
    }
  });

  it('change nothing with --read-only', async () => {
    const work = await desk({ session: 'one' });
    await ok(work.session.write('a.txt', 'one\n'));
    await ok(work.session.write('a.txt', 'two\n'));
    const shown = async () => [
      (await lookfirst(work, ['log', '--json'])).stdout,
      (await lookfirst(work, ['sessions', '--json'])).stdout,
    ];
    const before = await shown();
    for (const args of [
      ['allow', 'a.txt'],
      ['sessions', 'forget', 'one'],
      ['sessions', 'compacted', 'one'],
    ]) {
      const ran = await lookfirst(work, [...args, '--read-only']);
      expect(ran, args.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toBe('lookfirst: nothing was changed, because --read-only is given [READ_ONLY]\n');
    }
    for (const args of [
      ['gc', '--quota', '1'],
      ['gc', '--purge', 'a.txt'],
    ]) {
      const ran = await lookfirst(work, [...args, '--read-only']);
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('would remove') });
    }
    expect(await shown()).toEqual(before);
  });

  it('select one session of the list', async () => {
    const work = await desk({ session: 'one' });
    await work.session.close();
    await (await work.open({ session: 'two' })).close();
    const listed = objects(await lookfirst(work, ['sessions', '--session', 'two', '--json']));
    expect(listed.map(({ id }) => id)).toEqual(['two']);
  });

  it('are taken from a flag first, then from the environment, then from the default', async () => {
    const work = await desk({ session: 'agent-7' });
    await ok(work.session.write('a.txt', 'one\n'));
    const other = `sqlite:${join(work.base, 'other.db')}`;
    const count = async (flags: string[], env = {}): Promise<number> =>
      objects(await lookfirst(work, ['log', '--json', ...flags], { env })).length;
    expect(await count([])).toBe(2);
    expect(await count([], { LOOKFIRST_STORE: other })).toBe(0);
    const own = `sqlite:${join(work.home, 'lookfirst.db')}`;
    expect(await count(['--store', own], { LOOKFIRST_STORE: other })).toBe(2);
  });

  it.each([
    ['an unknown store', ['log', '--store', 'redis:'], {}, 'unknown store "redis:"'],
    [
      'a relative state folder',
      ['log'],
      { LOOKFIRST_HOME: 'state' },
      'LOOKFIRST_HOME must be an absolute path',
    ],
  ])('end with an error if they are %s', async (_what, args, env, words) => {
    const ran = await lookfirst(scratch(), args, { env });
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
    expect(ran.stderr).toMatch(/\[CONFIG_INVALID\]\n$/);
  });

  it.each(['gc', 'log', 'status', 'sessions', 'diff', 'undo', 'rewind', 'claims', 'config', 'doctor'])(
    'end %s with an error if they name a missing policy file',
    async (command) => {
      const ran = await lookfirst(scratch(), [command, '--policy', 'none.json']);
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.stderr).toMatch(
        /^lookfirst: there is no policy file .*none\.json; create it, or leave out --policy \[CONFIG_INVALID\]\n$/,
      );
    },
  );

  it('that are invalid in a policy file do not prevent reading the journal', async () => {
    const places = scratch();
    writeFileSync(join(places.home, 'lookfirst.json'), 'not JSON');
    expect((await lookfirst(places, ['log'])).code).toBe(0);
  });
});
