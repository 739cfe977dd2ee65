// Runs commands while only few file descriptors are free. Sends how each run ended, and what the last one wrote.
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { errnoOf, Fault } from '../../src/model/fault.ts';
import { Sessions } from '../../src/session/sessions.ts';

const { root, home } = JSON.parse(process.argv[2] ?? '') as { readonly root: string; readonly home: string };
const sessions = await Sessions.open({ roots: [root], home });
const session = await sessions.session('agent');
await session.run('echo begun > a.txt', { profile: 'undo' });
const ended: string[] = [];
for (const free of [1, 2, 3, 4]) {
  const fillers = fill();
  for (const filler of fillers.splice(0, free)) closeSync(filler);
  ended.push(await session.run(`echo ${free} > a.txt`, { profile: 'undo' }).then(() => 'done', nameOf));
  for (const filler of fillers) closeSync(filler);
  // If Node could not start a program, it reports that a moment later, in an event. Wait for the
  // event.
  await wait(20);
}
await session.run('echo ended >> a.txt', { profile: 'undo' });
await sessions.close();
process.send?.({ ended, text: readFileSync(join(root, 'a.txt'), 'utf8') });
process.disconnect();

function nameOf(error: unknown): string {
  return error instanceof Fault ? `${error.code} ${error.reason}` : String(errnoOf(error) ?? error);
}

function fill(): number[] {
  const fillers: number[] = [];
  for (;;) {
    try {
      fillers.push(openSync('/dev/null', 'r'));
    } catch {
      return fillers;
    }
  }
}
