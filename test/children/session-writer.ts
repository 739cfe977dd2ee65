// Makes every kind of change in a shared tree until it is killed. Writes each acknowledged change to a file on disk
// before the next change begins.
import { fsyncSync, openSync, writeSync } from 'node:fs';
import type { Durability } from '../../src/model/policy.ts';
import { openSession } from '../../src/session/sessions.ts';
import { RandomWork } from '../support/random-work.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly session: string;
  readonly seed: number;
  /** The file for acknowledged change ids, one per line. */
  readonly acknowledged: string;
  readonly durability: Durability;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const log = openSync(settings.acknowledged, 'a');
const session = await openSession({
  roots: [settings.root],
  home: settings.home,
  session: settings.session,
  policy: { durability: settings.durability },
});
const work = new RandomWork(session, settings.seed);
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));
for (;;) await step();

async function step(): Promise<void> {
  try {
    const outcome = await work.step();
    if (outcome?.ok !== true || outcome.change === undefined) return;
    writeSync(log, `${outcome.change}\n`);
    fsyncSync(log);
    process.send?.({ change: outcome.change });
  } catch (error) {
    process.send?.({ fault: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}
