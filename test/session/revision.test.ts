import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a revision is a secret of the state folder', () => {
  it.each([12, 32, 64])('%i digits of the SHA-256 do not license an unread file', async (digits) => {
    const t = await desk();
    await t.put('a.txt', 'private\n');
    const expectedRevision = sha256('private\n').slice(0, digits);
    const proof = { expectedRevision };
    await refusal(t.session.write('a.txt', 'mine\n', proof), 'REVISION_MISMATCH');
    await refusal(
      t.session.edit('a.txt', [{ oldString: 'private', newString: 'mine' }], proof),
      'REVISION_MISMATCH',
    );
    expect(t.text('a.txt')).toBe('private\n');
  });

  it('has 12 hex digits, depends on the bytes, and another session may use it', async () => {
    const t = await desk({ session: 'a' });
    await t.put('a.txt', 'one\n');
    await t.put('same.txt', 'one\n');
    await t.put('other.txt', 'two\n');
    const [a, same, other] = await Promise.all(
      ['a.txt', 'same.txt', 'other.txt'].map((path) => ok(t.session.read(path))),
    );
    expect(a?.revision).toMatch(/^[0-9a-f]{12}$/);
    expect(same?.revision).toBe(a?.revision);
    expect(other?.revision).not.toBe(a?.revision);
    const second = await t.open({ session: 'b' });
    await ok(second.write('a.txt', 'b\n', { expectedRevision: a?.revision ?? '' }));
  });

  it('another state folder gives other revisions for the same bytes', async () => {
    const [here, there] = [await desk(), await desk()];
    await here.put('a.txt', 'one\n');
    await there.put('a.txt', 'one\n');
    const revision = (await ok(here.session.read('a.txt'))).revision ?? '';
    await refusal(there.session.write('a.txt', 'x', { expectedRevision: revision }), 'REVISION_MISMATCH');
  });

  it('only the user can read the key', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const names = readdirSync(t.home);
    expect(names).toContain('lookfirst.key');
    expect(statSync(join(t.home, 'lookfirst.key')).mode & 0o777).toBe(0o600);
    expect(names.filter((name) => name.includes('.key'))).toHaveLength(1);
  });

  it('a list of seen files contains no revision', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const [listed] = (await ok(t.session.status())).files;
    expect(listed).toMatchObject({ path: 'a.txt', seen: 'whole' });
    expect(listed).not.toHaveProperty('revision');
    expect((await ok(t.session.status('a.txt'))).files[0]?.revision).toMatch(/^[0-9a-f]{12}$/);
  });
});
