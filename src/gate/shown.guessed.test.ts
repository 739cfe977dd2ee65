import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk } from '../../test/support/desk.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';
const CHANGED = TEXT.replace('three', 'THREE');

describe.each([
  [
    'the whole file',
    { content: TEXT },
    { code: 'STALE', detail: { diff: expect.stringContaining('+THREE') } },
  ],
  [
    'some lines',
    { content: 'one\ntwo', ranges: [{ from: 1, to: 2 }] },
    { code: 'PARTIALLY_READ', detail: { missing: [{ from: 3, to: 5 }] } },
  ],
])(
  'after a read of %s and an outside change, an answer that was wrongly guessed to be the file’s text',
  (_, first, refusal) => {
    async function guessed(text: string, policy: object = {}) {
      const t = await desk({ policy });
      await t.put('a.txt', TEXT);
      const session = t.session.forHost();
      const path = join(t.root, 'a.txt');
      await session.witness({ kind: 'read', path, ...first });
      await t.put('a.txt', text);
      const before = await session.hashOf(path);
      await session.witness({ kind: 'read', path, content: 'size: 24', guessed: true, before });
      return {
        write: () => session.announce([{ kind: 'write', path, content: 'x' }]),
        edit: () =>
          session.announce([{ kind: 'edit', path, edits: [{ oldString: 'one', newString: 'eins' }] }]),
      };
    }

    it('does not change the refusal of a whole write', async () => {
      const { write } = await guessed(CHANGED);
      expect(await write()).toMatchObject({ ok: false, refusal });
    });

    it('leaves an edit its notice about the change', async () => {
      const { edit } = await guessed(CHANGED);
      expect(await edit()).toMatchObject({
        ok: true,
        notices: [{ kind: 'changed-elsewhere', diff: expect.stringContaining('+THREE') }],
      });
    });

    it.each([
      ['the diff is too long to show', `one\n${'x\n'.repeat(2000)}`, {}],
      ['the policy wants a new read', CHANGED, { freshness: 'mtime', staleness: 'refuse' }],
    ])('licenses nothing if %s: it showed no line of the file', async (_why, text, policy) => {
      const { write } = await guessed(text, policy);
      const refused = await write();
      expect(refused.ok).toBe(false);
    });
  },
);
