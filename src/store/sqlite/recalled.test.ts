import { describe, expect, it } from 'vitest';
import { NOTHING } from '../../model/coverage.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { Recalled } from './recalled.ts';

const A = sightingOf('/w/a');
const B = sightingOf('/w/b');

describe('the cache of sightings', () => {
  it('keeps a sighting while this connection writes another one', () => {
    const { recalled } = filled();
    recalled.writing({ sightings: [{ session: 's', sighting: B }] });
    expect(recalled.get('s', A.key)).toBe(A);
  });

  it('reads the version again after a write in the same moment', () => {
    const { recalled, others } = filled();
    recalled.writing({ sightings: [{ session: 's', sighting: B }] });
    others.write();
    expect(recalled.get('s', A.key)).toBeUndefined();
  });

  it.each([
    ['a file is forgotten', { forget: [{ session: 's', key: A.key }] }],
    ['a session is dropped', { dropSession: 's' }],
  ])('is empty after %s', (_, writes) => {
    const { recalled } = filled();
    recalled.writing(writes);
    expect(recalled.get('s', A.key)).toBeUndefined();
  });

  it('holds a bounded number of sightings, of however many sessions', () => {
    const { recalled } = filled();
    for (let session = 0; session < 1000; session += 1) recalled.set(`s${session}`, B);
    expect(recalled.get('s', A.key)).toBeUndefined();
    expect(recalled.get('s999', B.key)).toBe(B);
  });
});

function filled(): { readonly recalled: Recalled; readonly others: { write(): void } } {
  let version = 1;
  const recalled = new Recalled(() => version);
  recalled.get('s', A.key);
  recalled.set('s', A);
  expect(recalled.get('s', A.key)).toBe(A);
  return {
    recalled,
    others: {
      write: () => {
        version += 1;
      },
    },
  };
}

function sightingOf(key: string): Sighting {
  return {
    key,
    fingerprint: undefined,
    stamp: undefined,
    racy: false,
    coverage: NOTHING,
    totalLines: undefined,
    flags: NO_FLAGS,
    how: 'read',
    atMs: 1,
  };
}
