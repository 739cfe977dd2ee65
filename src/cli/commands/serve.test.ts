import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../../test/support/tree.ts';
import { UsageError } from '../../config/flags.ts';
import { Sessions } from '../../session/sessions.ts';
import { parseCommand } from '../parse-command.ts';
import { runCli } from '../run-cli.ts';
import { SERVE } from './serve.ts';

/** The stderr of a server that ends at once. */
async function said(isTTY: boolean): Promise<string> {
  const { root, home } = scratch();
  const stderr = new PassThrough();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const unused = () => expect.unreachable();
  const ended = await runCli({
    args: ['serve'],
    streams: {
      stdin: Object.assign(new PassThrough(), { isTTY }),
      stdout: Object.assign(new PassThrough(), { isTTY }),
      stderr,
    },
    env: { LOOKFIRST_HOME: home },
    cwd: root,
    platform: process.platform,
    homeFolder: home,
    self: [],
    runServer: async (plan) => plan.opened(sessions),
    runProxy: unused,
    runViewer: unused,
  });
  expect(ended).toBe(0);
  return String(stderr.read() ?? '');
}

describe('a server that a user has started in a terminal', () => {
  it('says that it waits for a client, and how to get help', async () => {
    expect(await said(true)).toMatch(
      /^lookfirst: serving .*\nlookfirst: .*waiting for an MCP client.*lookfirst --help/,
    );
  });

  it('prints nothing else if a client has started it', async () => {
    expect(await said(false)).toMatch(/^lookfirst: serving .*\n$/);
  });
});

const DEFAULTS = { dialect: 'lookfirst', color: 'auto' };

describe('the words of serve', () => {
  it.each([
    [[], {}],
    [['a', 'b'], { dir: ['a', 'b'] }],
    [['--dialect', 'lace', 'a'], { dialect: 'lace', dir: ['a'] }],
    [['a', '--dialect=filesystem'], { dialect: 'filesystem', dir: ['a'] }],
    [
      ['--preset', 'strict', '--session', 's 1', '--store', 'memory:'],
      { preset: 'strict', session: 's 1', store: 'memory:' },
    ],
    [['--policy=p=q.json', '--read-only'], { policy: 'p=q.json', readOnly: true }],
    [['--http'], { http: {} }],
    [['--http', '8080', 'a'], { http: { port: 8080 }, dir: ['a'] }],
    [['--http', 'a'], { http: {}, dir: ['a'] }],
    [['--http=0'], { http: { port: 0 } }],
    [['--', '--dialect', '-x'], { dir: ['--dialect', '-x'] }],
    [['--session', 'a', '--session', 'b'], { session: 'b' }],
    [['--read-only-root', 'a', '--read-only-root=b'], { readOnlyRoot: ['a', 'b'] }],
  ])('reads %j', (args, request) => {
    expect(parseCommand(SERVE, args)).toEqual({ kind: 'values', values: { ...DEFAULTS, ...request } });
  });

  it.each([
    [['--dialekt', 'x'], "unknown option '--dialekt'. Did you mean --dialect?"],
    [['-x'], "unknown option '-x'"],
    [['a', ''], 'DIR is empty'],
    [['--dialect'], '--dialect needs a value'],
    [
      ['--dialect', 'go'],
      "unknown --dialect 'go'. Choose from lookfirst, sandbox, lace, filesystem, apply-patch, text-editor, anthropic.",
    ],
    [
      ['--preset=none'],
      "unknown --preset 'none'. Choose from default, strict, sandbox, file-time, thread-history, staleness.",
    ],
    [['--session='], '--session needs a value'],
    [['--session', 'a\nb'], "--session 'a b' is invalid. Use up to 200 printable characters."],
    [['--read-only=yes'], '--read-only takes no value'],
    [['--http=web'], "--http 'web' is invalid. A port is a number from 0 to 65535."],
    [['--http', '70000'], "--http '70000' is invalid. A port is a number from 0 to 65535."],
    [['--toString', 'x'], "unknown option '--toString'"],
  ])('refuses %j', (args, problem) => {
    expect(() => parseCommand(SERVE, args)).toThrow(new UsageError(problem));
  });

  it.each([[['--help']], [['a', '-h', '--nonsense']]])('shows the help for %j', (args) => {
    expect(parseCommand(SERVE, args)).toEqual({ kind: 'help' });
  });
});
