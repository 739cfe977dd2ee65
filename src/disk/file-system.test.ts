import { afterEach, describe, expect, it } from 'vitest';
import { bench, holding } from '../../test/support/disk.ts';
import type { DiskContext } from './context.ts';
import { move } from './move.ts';
import { remove } from './remove.ts';
import { create, replace } from './replace.ts';

const CHANGES = ['replace', 'create', 'remove', 'move'] as const;

let timer: NodeJS.Immediate | undefined;
afterEach(() => clearImmediate(timer));

/**
 * Starts to count the turns of the event loop. Returns a function that returns the count so far. In
 * each turn, a server could answer other calls.
 */
function turns(): () => number {
  let count = 0;
  const next = (): void => {
    count += 1;
    timer = setImmediate(next);
  };
  timer = setImmediate(next);
  return () => count;
}

describe.each(CHANGES)('the syncs of %s', (name) => {
  it('do not block other work', async () => {
    const count = turns();
    const seen: [string, number][] = [];
    const trace: DiskContext['trace'] = (step) => seen.push([step, count()]);
    const disk = bench(['f: old', 'd/'], { durability: 'full', trace });
    expect(await change(disk, name)).toMatchObject({ ok: true });
    seen.push(['end', count()]);
    const syncs = seen.flatMap(([step], at) => (step.endsWith('-sync') ? [at] : []));
    expect(syncs).not.toEqual([]);
    for (const at of syncs) expect(seen[at + 1]?.[1]).toBeGreaterThan(seen[at]?.[1] ?? 0);
  });
});

function change(disk: ReturnType<typeof bench>, name: (typeof CHANGES)[number]): Promise<unknown> {
  const bytes = Buffer.from('new');
  switch (name) {
    case 'replace':
      return replace(disk.context, disk.place('f'), { bytes, expected: holding('old') });
    case 'create':
      return create(disk.context, disk.place('g'), { bytes });
    case 'remove':
      return remove(disk.context, disk.place('f'), holding('old'));
    case 'move':
      return move(disk.context, disk.place('f', 'parents'), disk.place('d/f', 'parents'));
    default:
      return name satisfies never;
  }
}
