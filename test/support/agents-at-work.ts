import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { random } from '../shared/random.ts';
import { type Child, startChild } from './child.ts';
import { AGENTS, type Counts, EDITS, FILES, functions, workOf } from './scripted-agent.ts';
import { scratch } from './tree.ts';

interface Step {
  readonly done: boolean;
  readonly counts: Counts;
  readonly fault?: string;
}

interface Pace {
  readonly store?: () => string;
  /** How long an agent thinks at the beginning of a turn. */
  readonly thinkMs?: number;
  /** How many agents take a step at the same time. Default 1: every run is the same, and the notices must help. */
  readonly atOnce?: number;
}

/**
 * Lets four agents, each a process, make 200 edits of five files, with and without notices about claims. Which agent
 * takes the next step is chosen at random. Nothing may be lost, and the notices must at least halve the STALE refusals
 * if the agents take turns.
 */
export async function compareClaims(options: Pace = {}): Promise<void> {
  const off = await work('off', options);
  const notice = await work('notice', options);
  console.info(
    `${AGENTS} processes, ${EDITS} edits of ${FILES} files: 0 lost; ${off.stale} STALE with claims off, ` +
      `${notice.stale} with notices; ${notice.notices.length} notices`,
  );
  expect(off.notices).toEqual([]);
  // At most one for each agent, turn and path.
  expect(new Set(notice.notices).size).toBe(notice.notices.length);
  // At the same time, how often agents collide depends on the machine: those figures are printed only.
  if ((options.atOnce ?? 1) > 1) return;
  // The control: without claims these agents do collide.
  expect(off.stale).toBeGreaterThan(10);
  expect(notice.stale * 2).toBeLessThanOrEqual(off.stale);
}

async function work(claims: 'notice' | 'off', { store, thinkMs = 0, atOnce = 1 }: Pace): Promise<Counts> {
  const { root, home } = scratch();
  for (let n = 0; n < FILES; n++) writeFileSync(join(root, `f${n}.ts`), functions());
  const url = store?.();
  const waiting: Child[] = [];
  for (let agent = 0; agent < AGENTS; agent++) {
    const child = await startChild('scripted-agent', { root, home, store: url, claims, agent, thinkMs });
    expect(await child.message()).toBe('ready');
    waiting.push(child);
  }
  const ended: Counts[] = [];
  const { roll } = random(19);
  const takeSteps = async (): Promise<void> => {
    for (;;) {
      const [child] = waiting.splice(roll(waiting.length), 1);
      if (child === undefined) return;
      child.send('step');
      const { done, counts, fault } = await child.message<Step>();
      expect(fault).toBeUndefined();
      if (done) ended.push(counts);
      else waiting.push(child);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, takeSteps));
  expect(ended).toHaveLength(AGENTS);
  const texts = Array.from({ length: FILES }, (_, n) => readFileSync(join(root, `f${n}.ts`), 'utf8')).join(
    '',
  );
  const marks = Array.from({ length: AGENTS }, (_, n) => workOf(n)).flat(2);
  expect(marks.filter(({ mark }) => !texts.includes(`// ${mark}\n`))).toEqual([]);
  const total: Counts = { stale: 0, edits: 0, notices: [] };
  for (const { stale, edits, notices } of ended) {
    total.stale += stale;
    total.edits += edits;
    total.notices.push(...notices);
  }
  expect(total.edits).toBe(EDITS);
  return total;
}
