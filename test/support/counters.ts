import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChainReport, verifyChain } from '../../src/journal/verify.ts';
import { type SessionOptions, Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { IN_MEMORY, scratch } from '../support/tree.ts';

export interface Counted {
  readonly acknowledged: number;
  readonly counted: number;
  readonly changes: number;
  readonly sessions: number;
  readonly pending: number;
  readonly chain: ChainReport['ok'];
}

const FILES = ['a.txt', 'b.txt', 'c.txt'];

/**
 * Starts processes that count up numbers in the same files at the same time. Returns the counts in
 * the files and in the journal, and the refusals by code.
 */
export async function countTogether(run: {
  readonly processes: number;
  readonly edits: number;
  readonly files?: readonly string[];
  /**
   * If set, each process has its own state folder and these options, like machines that share a
   * network file system.
   */
  readonly machines?: Partial<SessionOptions>;
}): Promise<Counted & { readonly refusals: Readonly<Record<string, number>> }> {
  const { root, home, base } = scratch(IN_MEMORY);
  const { machines, files = FILES } = run;
  for (const file of files) writeFileSync(join(root, file), 'top\ncount: 0\nbottom\n');
  const children = await Promise.all(
    Array.from({ length: run.processes }, (_, index) =>
      startChild('session-counter', {
        root,
        home: machines === undefined ? home : join(base, `machine-${index}`),
        options: machines ?? {},
        files,
        edits: run.edits,
        session: String.fromCharCode(97 + index),
      }),
    ),
  );
  for (const child of children) await child.message();
  for (const child of children) child.send('go');
  const refusals: Record<string, number> = {};
  let acknowledged = 0;
  for (const child of children) {
    const told = await child.message<{ acknowledged: number; refusals: Record<string, number> }>();
    acknowledged += told.acknowledged;
    for (const [code, count] of Object.entries(told.refusals)) refusals[code] = (refusals[code] ?? 0) + count;
    await child.exit();
  }
  const sessions = await Sessions.open({ roots: [root], home, ...machines });
  const { store } = sessions.world;
  const entries = await store.entries({ kinds: ['change'] });
  const counted = {
    acknowledged,
    counted: files.reduce((sum, file) => sum + countIn(join(root, file)), 0),
    changes: new Set(entries.map((entry) => entry.change)).size,
    sessions: new Set(entries.map((entry) => entry.session)).size,
    pending: (await store.pending()).length,
    chain: (await verifyChain(store)).ok,
  };
  await sessions.close();
  return { ...counted, refusals };
}

function countIn(file: string): number {
  return Number(/^top\ncount: (\d+)\nbottom\n$/.exec(readFileSync(file, 'utf8'))?.[1]);
}
