import { describe, expect, it } from 'vitest';
import { UsageError } from '../config/flags.ts';
import { parseServe } from './serve-request.ts';

const DEFAULTS = { dialect: 'lookfirst', color: 'auto' };

describe('parseServe', () => {
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
    expect(parseServe(args)).toEqual({ ...DEFAULTS, ...request });
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
    [['--session', 'a\nb'], "--session 'a\nb' is invalid. Use up to 200 printable characters."],
    [['--read-only=yes'], '--read-only takes no value'],
    [['--http=web'], "--http 'web' is invalid. A port is a number from 0 to 65535."],
    [['--http', '70000'], "--http '70000' is invalid. A port is a number from 0 to 65535."],
    [['--toString', 'x'], "unknown option '--toString'"],
  ])('refuses %j', (args, problem) => {
    expect(() => parseServe(args)).toThrow(new UsageError(problem));
  });

  it.each([[['--help']], [['a', '-h', '--nonsense']]])('shows the help for %j', (args) => {
    expect(parseServe(args)).toBe('help');
  });
});
