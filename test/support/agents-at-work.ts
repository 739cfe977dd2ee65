import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Child, startChild } from './child.ts';
import { AGENTS, type Counts, EDITS, FILES, functions, workOf } from './scripted-agent.ts';
import { scratch } from './tree.ts';

interface Pace {
  readonly store?: () => string;
  /** Average pause of an agent before each call. */
  readonly thinkMs: number;
}

/**
 * Lets four agents, each a process, make 200 edits of five files at the same time. They do so with
 * and without notices about files that another agent is working on (claims). Nothing may be lost,
 * and the notices must at least halve the STALE refusals.
 */
export async function compareClaims(pace: Pace): Promise<void> {
  const off = await work('off', pace);
  const notice = await work('notice', pace);
  console.info(
    `${AGENTS} processes at the same time, ${EDITS} edits of ${FILES} files: 0 lost; ` +
      `${off.stale} STALE with claims off, ${notice.stale} with notices; ` +
      `${notice.notices.length} notices, ${notice.putAside} turns put aside`,
  );
  expect(off.notices).toEqual([]);
  // Each agent gets at most one notice for each turn and path.
  expect(new Set(notice.notices).size).toBe(notice.notices.length);
  // Control: without these notices, the agents' edits do collide.
  expect(off.stale).toBeGreaterThanOrEqual(40);
  expect(notice.stale * 2).toBeLessThanOrEqual(off.stale);
}

async function work(claims: 'notice' | 'off', { store, thinkMs }: Pace): Promise<Counts> {
  const { root, home } = scratch();
  for (let n = 0; n < FILES; n++) writeFileSync(join(root, `f${n}.ts`), functions());
  const url = store?.();
  const agents: Child[] = [];
  for (let agent = 0; agent < AGENTS; agent++) {
    const child = await startChild('scripted-agent', { root, home, store: url, claims, agent, thinkMs });
    expect(await child.message()).toBe('ready');
    agents.push(child);
  }
  for (const agent of agents) agent.send('begin');
  const total: Counts = { stale: 0, edits: 0, putAside: 0, notices: [] };
  for (const agent of agents) {
    const { counts, fault } = await agent.message<{ counts?: Counts; fault?: string }>();
    expect(fault).toBeUndefined();
    total.stale += counts?.stale ?? 0;
    total.edits += counts?.edits ?? 0;
    total.putAside += counts?.putAside ?? 0;
    total.notices.push(...(counts?.notices ?? []));
  }
  const texts = Array.from({ length: FILES }, (_, n) => readFileSync(join(root, `f${n}.ts`), 'utf8'));
  const marks = Array.from({ length: AGENTS }, (_, n) => workOf(n)).flat(2);
  expect(marks.filter(({ mark }) => !texts.join('').includes(`// ${mark}\n`))).toEqual([]);
  expect(total.edits).toBe(EDITS);
  return total;
}
