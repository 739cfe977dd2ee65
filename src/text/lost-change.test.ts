import { describe, expect, it } from 'vitest';
import { losesChange } from './lost-change.ts';

const BASE =
  'import a\n\ntimeout = 30\n\nfunction one() {\n  return 1\n}\n\nfunction two() {\n  return 2\n}\n';
const replaced = (text: string, from: string, to: string): string => {
  expect(text).toContain(from);
  return text.replace(from, to);
};
const USER = replaced(BASE, 'timeout = 30', 'timeout = 60');
const ADDED = replaced(
  BASE,
  'function two',
  '// the user asked for this\nfunction half() {}\n\nfunction two',
);
const REMOVED = replaced(BASE, 'function one() {\n  return 1\n}\n\n', '');

describe('a change that is missing from a later version', () => {
  it.each<[string, string, string]>([
    ['is reverted by a whole rewrite', USER, replaced(BASE, 'return 2', 'return 3')],
    ['is replaced by another value', USER, replaced(BASE, 'timeout = 30', 'timeout = 45')],
    ['was an addition that a rewrite leaves out', ADDED, replaced(BASE, 'return 2', 'return 3')],
    ['was a removal that a rewrite brings back', REMOVED, replaced(BASE, 'return 2', 'return 3')],
    ['is deleted with everything else', USER, ''],
    ['is the old text again', USER, BASE],
  ])('%s', (_what, live, after) => {
    expect(losesChange(BASE, live, after)).toBe(true);
  });
});

describe('a change is kept', () => {
  it.each<[string, string, string]>([
    ['when another line is edited', USER, replaced(USER, 'return 2', 'return 3')],
    [
      'when the neighbouring line is edited',
      USER,
      replaced(USER, '\nfunction one', '\n// one\nfunction one'),
    ],
    ['when everything is indented', USER, USER.replace(/^(?=.)/gm, '  ')],
    ['when a word in it is renamed', ADDED, ADDED.replaceAll('half', 'semi')],
    [
      'when it is moved',
      ADDED,
      replaced(
        replaced(ADDED, '// the user asked for this\nfunction half() {}\n\n', ''),
        'import a\n',
        'import a\n// the user asked for this\nfunction half() {}\n',
      ),
    ],
    ['when lines are appended', REMOVED, `${REMOVED}\nfunction three() {}\n`],
    ['when nothing is changed', USER, USER],
    ['when only its whitespace is undone', replaced(BASE, '  return 1', '    return 1'), BASE],
  ])('%s', (_what, live, after) => {
    expect(losesChange(BASE, live, after)).toBe(false);
  });

  it('if there was none', () => {
    expect(losesChange(BASE, BASE, 'x\n')).toBe(false);
  });
});
