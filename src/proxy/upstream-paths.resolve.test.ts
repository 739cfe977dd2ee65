import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { upstreamPath } from './upstream-paths.ts';

const root = { relativeTo: 'root', expandsHome: true, cwd: '/cwd' } as const;
const cwd = { relativeTo: 'cwd', expandsHome: false, cwd: '/cwd' } as const;

it.each([
  ['an absolute path is what it says', '/a/b', root, '/a/b'],
  ['a relative one goes to the session as it is', 'a/b', root, 'a/b'],
  ['or is relative to the working directory of the server', 'a/../b', cwd, '/cwd/b'],
  ['an empty path is the root itself', '', root, '.'],
  ['or the working directory itself', '', cwd, '/cwd'],
  ['home is home to servers that know it', '~/x', root, join(homedir(), 'x')],
  ['so is the tilde alone', '~', root, homedir()],
  ['and an odd name to servers that do not', '~/x', cwd, '/cwd/~/x'],
  ['another user’s home is an odd name', '~root/x', root, '~root/x'],
  ['an address of a file is that file', 'file:///a%20b', root, '/a b'],
  ['an address with one slash is that file', 'file:/a', root, '/a'],
  ['an address of another machine is the file with its path', 'file://elsewhere/a', root, '/a'],
])('%s', (_what, path, reading, expected) => {
  expect(upstreamPath(path, reading)).toBe(expected);
});
