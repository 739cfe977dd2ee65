import { expect, it } from 'vitest';
import { pendingChange } from '../../../test/store/samples.ts';
import { Names } from './names.ts';
import { RecordWriter } from './record-writer.ts';

it('sends the owner with a change until the server has confirmed it, not with every change', () => {
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [] });
  const announced = (change: string) => writer.prepare({ announce: pendingChange(change) });
  const ownerIn = (record: { readonly text: string }): unknown => JSON.parse(record.text).owner;
  const [first, second] = [announced('c1'), announced('c2')];
  expect([first, second].map(ownerIn)).toEqual(['me', 'me']);
  writer.done(first, 0);
  expect(ownerIn(announced('c3'))).toBeUndefined();
});
