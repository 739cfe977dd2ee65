import { expect, it } from 'vitest';
import { sighting } from '../../test/support/judging.ts';
import { joinWrites } from './store.ts';

it('joins lists in order, and keeps the last value of single-valued fields', () => {
  const a = { session: 's', sighting: sighting({ key: 'a' }) };
  const b = { session: 's', sighting: sighting({ key: 'b' }) };
  const joined = joinWrites(
    { sightings: [a], settle: ['1'], dropSession: 'x' },
    {},
    { sightings: [b], settle: ['2'], forget: [{ session: 's', key: 'c' }], dropSession: 'y' },
  );
  expect(joined).toEqual({
    sightings: [a, b],
    settle: ['1', '2'],
    forget: [{ session: 's', key: 'c' }],
    dropSession: 'y',
  });
  expect(joinWrites({}, {})).toEqual({});
});
