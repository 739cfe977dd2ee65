import { describe, expect, it } from 'vitest';
import { policyFilePath, type Surroundings, stateFolder } from './home.ts';

const linux = (env: Surroundings['env'], homeFolder?: string): Surroundings => ({
  platform: 'linux',
  env,
  homeFolder,
});

describe('the state folder', () => {
  it.each<[string, Surroundings, string]>([
    ['LOOKFIRST_HOME wins', linux({ LOOKFIRST_HOME: '/s', XDG_STATE_HOME: '/x', HOME: '/h' }), '/s'],
    ['XDG on Linux', linux({ XDG_STATE_HOME: '/x/', HOME: '/h' }), '/x/lookfirst'],
    [
      'a relative XDG path is ignored',
      linux({ XDG_STATE_HOME: 'x', HOME: '/h' }),
      '/h/.local/state/lookfirst',
    ],
    ['an empty variable is not set', linux({ LOOKFIRST_HOME: '', HOME: '/h' }), '/h/.local/state/lookfirst'],
    ['the platform knows the home', linux({}, '/home/u'), '/home/u/.local/state/lookfirst'],
    ['root as home', linux({ HOME: '/' }), '/.local/state/lookfirst'],
    [
      'macOS has its own place',
      { platform: 'darwin', env: { HOME: '/Users/u', XDG_STATE_HOME: '/x' } },
      '/Users/u/Library/Application Support/lookfirst',
    ],
    [
      'Windows: local application data',
      { platform: 'win32', env: { LOCALAPPDATA: 'C:\\Users\\u\\AppData\\Local\\' } },
      'C:\\Users\\u\\AppData\\Local\\lookfirst',
    ],
    [
      'Windows without it',
      { platform: 'win32', env: { USERPROFILE: 'C:\\Users\\u' } },
      'C:\\Users\\u\\AppData\\Local\\lookfirst',
    ],
    ['Windows, chosen', { platform: 'win32', env: { LOOKFIRST_HOME: 'D:/state' } }, 'D:/state'],
  ])('%s', (_rule, surroundings, expected) => {
    expect(stateFolder(surroundings)).toBe(expected);
  });

  it.each<[string, Surroundings, RegExp]>([
    [
      'a relative LOOKFIRST_HOME',
      linux({ LOOKFIRST_HOME: 'state' }),
      /LOOKFIRST_HOME must be an absolute path/,
    ],
    ['no home at all', linux({}), /no home folder is known/],
    ['a drive-relative Windows path', { platform: 'win32', env: { LOOKFIRST_HOME: 'C:state' } }, /absolute/],
  ])('cannot be found: %s', (_what, surroundings, message) => {
    expect(() => stateFolder(surroundings)).toThrow(message);
  });

  it('contains the policy file', () => {
    expect(policyFilePath('/s', 'linux')).toBe('/s/lookfirst.json');
    expect(policyFilePath('C:\\s', 'win32')).toBe('C:\\s\\lookfirst.json');
  });
});
