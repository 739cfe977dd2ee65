import { describe, expect, it } from 'vitest';
import { defineServe } from './commands/door-help.ts';
import { parseServe, SERVE_FLAGS } from './serve-request.ts';

const DEFAULTS = {
  folders: [],
  dialect: 'lookfirst',
  readOnly: false,
  allowCommands: false,
  allowUndo: false,
  showConfig: false,
};

describe('parseServe', () => {
  it.each([
    [[], {}],
    [['a', 'b'], { folders: ['a', 'b'] }],
    [['--dialect', 'lace', 'a'], { dialect: 'lace', folders: ['a'] }],
    [['a', '--dialect=filesystem'], { dialect: 'filesystem', folders: ['a'] }],
    [
      ['--preset', 'strict', '--session', 's 1', '--store', 'memory:'],
      { preset: 'strict', session: 's 1', store: 'memory:' },
    ],
    [['--policy=p=q.json', '--read-only'], { policy: 'p=q.json', readOnly: true, showConfig: false }],
    [['--http'], { http: {} }],
    [['--http', '8080', 'a'], { http: { port: 8080 }, folders: ['a'] }],
    [['--http', 'a'], { http: {}, folders: ['a'] }],
    [['--http=0'], { http: { port: 0 } }],
    [['--', '--dialect', '-x'], { folders: ['--dialect', '-x'] }],
    [['--session', 'a', '--session', 'b'], { session: 'b' }],
    [['--read-only-root', 'a', '--read-only-root=b'], { readOnlyRoots: ['a', 'b'] }],
  ])('reads %j', (args, request) => {
    expect(parseServe(args)).toEqual({ ...DEFAULTS, ...request });
  });

  it.each([
    [['--dialekt', 'x'], "unknown option '--dialekt'. Did you mean --dialect?"],
    [['-x'], "unknown option '-x'"],
    [['a', ''], 'the name of a folder is empty'],
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
    [['--session', 'a\nb'], '--session takes up to 200 printable characters'],
    [['--read-only=yes'], '--read-only takes no value'],
    [['--http=web'], "--http takes a port from 0 to 65535, not 'web'"],
    [['--http', '70000'], "--http takes a port from 0 to 65535, not '70000'"],
    [['--toString', 'x'], "unknown option '--toString'"],
  ])('refuses %j', (args, problem) => {
    expect(parseServe(args)).toEqual({ problem });
  });

  it.each([[['--help']], [['a', '-h', '--nonsense']]])('shows the help for %j', (args) => {
    expect(parseServe(args)).toEqual({ help: true });
  });

  it('accepts every flag of the help', () => {
    const shown = defineServe().options.map(({ long }) => long);
    // The argument parser adds `--help` and `--version` to the help of every command.
    expect([...SERVE_FLAGS].sort()).toEqual([...shown, '--help', '--version'].sort());
  });
});
