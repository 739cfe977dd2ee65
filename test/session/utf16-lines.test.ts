import { expect, it } from 'vitest';
import { type Desk, desk, ok } from '../support/desk.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
/** In UTF-16, each letter of the first line contains the byte 0A, which is a newline in ASCII. */
const TEXT = '\u0a05\u0a15\ntwo\nthree\n';

it.each<[string, (t: Desk) => Promise<unknown>]>([
  [
    'a copy',
    async (t) => {
      await ok(t.session.read('a'));
      await ok(t.session.copy('a', 'b'));
    },
  ],
  ['a write of bytes', (t) => ok(t.session.write('b', utf16(TEXT)))],
  [
    'markRead',
    async (t) => {
      await t.put('b', utf16(TEXT));
      await ok(t.session.markRead('b'));
    },
  ],
  [
    'a witnessed write',
    async (t) => {
      await t.put('b', utf16(TEXT));
      await ok(t.session.witness({ kind: 'write', path: 'b', content: utf16(TEXT) }));
    },
  ],
  [
    'a host read',
    async (t) => {
      await t.put('b', utf16(TEXT));
      await ok(t.session.forHost().witness({ kind: 'read', path: 'b' }));
    },
  ],
  [
    'a host write',
    async (t) => {
      const host = t.session.forHost();
      const content = utf16(TEXT);
      const { change } = await ok(host.announce([{ kind: 'write', path: 'b', content }]));
      await t.put('b', content);
      await ok(host.settle(change, 'done'));
    },
  ],
  [
    'an edit of a file that changed outside',
    async (t) => {
      await t.put('b', utf16('\u0a05\u0a15\n2\n'));
      await ok(t.session.read('b'));
      await t.put('b', utf16(TEXT.replace('two', '2')));
      await ok(t.session.edit('b', [{ oldString: '2', newString: 'two' }]));
    },
  ],
  [
    'an edit of earlier bytes that are back',
    async (t) => {
      await t.put('b', utf16(TEXT.replace('two', '2')));
      await ok(t.session.read('b'));
      await ok(t.session.edit('b', [{ oldString: '2', newString: 'x\ny' }]));
      await t.put('b', utf16(TEXT.replace('two', '2')));
      await ok(t.session.edit('b', [{ oldString: '2', newString: 'two' }]));
    },
  ],
])('the lines of a UTF-16 file are counted in its text after %s', async (_what, act) => {
  const t = await desk({ store: 'memory:' });
  await t.put('a', utf16(TEXT));
  await act(t);
  const whole = await ok(t.session.read('b'));
  expect(whole).toMatchObject({ from: 1, to: 3, totalLines: 3, complete: true });
  expect((await ok(t.session.read('b', { last: 1 }))).text).toBe(whole.text.split('\n')[2]);
  await ok(t.session.write('b', 'x\n'));
});
