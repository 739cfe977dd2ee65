import { readdirSync } from 'node:fs';
import { startChild } from './child.ts';
import { scratch } from './tree.ts';

export interface CreateTally {
  readonly names: number;
  /** Names that several processes report as created. */
  readonly doubles: number;
  /** Names that no process reports as created. */
  readonly orphans: number;
  /** Files that another process found incomplete. */
  readonly halves: number;
  /**
   * Files in the folder that have none of the names to create, such as temporary files left behind.
   */
  readonly litter: number;
}

/** Lets several processes create the same names at the same time. */
export async function attackCreate(attack: {
  readonly code: 'ours' | 'naive';
  readonly processes: number;
  readonly names: number;
}): Promise<CreateTally> {
  const places = scratch();
  const owners = Array.from({ length: attack.processes }, (_, index) => String.fromCharCode(97 + index));
  const children = await Promise.all(
    owners.map((owner) =>
      startChild('kernel-creator', { root: places.root, home: places.home, owner, ...attack }),
    ),
  );
  for (const child of children) await child.message();
  for (const child of children) child.send('go');
  const wins = new Map<number, number>();
  let halves = 0;
  for (const child of children) {
    const report = await child.message<{ won: number[]; halves: number }>();
    for (const name of report.won) wins.set(name, (wins.get(name) ?? 0) + 1);
    halves += report.halves;
  }
  return {
    names: attack.names,
    doubles: [...wins.values()].filter((count) => count > 1).length,
    orphans: attack.names - wins.size,
    halves,
    litter: readdirSync(places.root).length - attack.names,
  };
}
