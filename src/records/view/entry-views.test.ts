import { expect, it, onTestFinished } from 'vitest';
import { changeEntry, delta, file, ROOT, sampleEntry } from '../../../test/store/samples.ts';
import { Records } from '../records.ts';
import { Scope } from '../scope.ts';
import { entryView } from './entry-views.ts';

it('a change counts as undone, however many changes of its file came later', async () => {
  const records = await Records.open({ home: '/', store: 'memory:' }, 'make');
  onTestFinished(() => records.close());
  const deltas = [delta('a.ts', file('x'), file('y'))];
  const later = Array.from({ length: 600 }, (_, n) => changeEntry(`later${n}`, deltas));
  const undo = changeEntry('undo', deltas, { action: 'undo', undoes: 'first' });
  await records.store.record({ entries: [changeEntry('first', deltas), undo, ...later] });
  const sources = { records, scope: new Scope({ cwd: ROOT }), secrets: 'mask' } as const;
  expect(await entryView(sources, 1)).toMatchObject({
    canUndo: false,
    facts: [{ words: 'This change was undone.', rows: [{ seq: 2 }] }],
  });
  expect(await entryView(sources, 3)).toMatchObject({ canUndo: true, facts: [] });
});

it('a refusal that was only recorded in observe mode says so and names no next step', async () => {
  const records = await Records.open({ home: '/', store: 'memory:' }, 'make');
  onTestFinished(() => records.close());
  const refusal = sampleEntry('refusal', { action: 'overwrite', code: 'NOT_READ', next: 'read' });
  await records.store.record({ entries: [{ ...refusal, observed: true }, refusal] });
  const sources = { records, scope: new Scope({ cwd: ROOT }), secrets: 'mask' } as const;
  const [observed, refused] = [await entryView(sources, 1), await entryView(sources, 2)];
  const passed = { tone: 'warn', words: expect.stringContaining('The call passed') };
  const next = { name: 'Next step given', words: expect.stringContaining('read the file') };
  expect(observed?.facts).toContainEqual(passed);
  expect(observed?.facts).not.toContainEqual(next);
  expect(refused?.facts).toContainEqual(next);
  expect(refused?.facts).not.toContainEqual(passed);
});
