import { expect, it } from 'vitest';
import { sighting } from '../../test/support/judging.ts';
import { joinWrites } from './store.ts';

it('joins lists in order, and keeps the last value of single-valued fields', () => {
  const a = { session: 's', view: { sighting: sighting({ key: 'a' }) } };
  const b = { session: 's', view: { sighting: sighting({ key: 'b' }) } };
  const joined = joinWrites(
    { views: [a], settle: ['1'], dropSession: 'x' },
    {},
    { views: [b], settle: ['2'], forget: [{ session: 's' }], dropSession: 'y' },
  );
  expect(joined).toEqual({
    views: [a, b],
    settle: ['1', '2'],
    forget: [{ session: 's' }],
    dropSession: 'y',
  });
  expect(joinWrites({}, {})).toEqual({});
});
