import { expect, it } from 'vitest';
import { desk, ok, refusal } from '../support/desk.ts';

it('a delete that another process of the session undoes keeps what the session had seen', async () => {
  const t = await desk({ session: 's' });
  const other = await t.open();
  await t.put('read.txt', 'one\ntwo\n');
  await ok(t.session.read('read.txt'));
  await ok(t.session.delete('read.txt'));
  await ok(other.undo());
  expect(t.text('read.txt')).toBe('one\ntwo\n');
  expect(await other.hasBeenRead('read.txt')).toBe(true);
  await ok(other.write('read.txt', 'three\n'));
});

it('nothing more than the session had seen', async () => {
  const t = await desk({ session: 's' });
  const other = await t.open();
  await t.put('a.txt', 'one\n');
  const { revision } = await ok(t.session.read('a.txt'));
  expect(revision).toBeDefined();
  await ok(t.session.delete('a.txt'));
  await t.session.compacted();
  await ok(other.undo());
  await refusal(other.write('a.txt', 'three\n'), 'NOT_READ');
});
