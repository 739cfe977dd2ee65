// Retains a file (keeps it in the state folder) while a writer still has it open, and lets the
// writer append to it. Then closes Lookfirst's own handles while no descriptor is free, and sends
// the bytes that were kept.
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openDisk } from '../../src/disk/context.ts';
import { retain } from '../../src/disk/shelf.ts';
import { errnoOf } from '../../src/model/fault.ts';

const { root, home } = JSON.parse(process.argv[2] ?? '') as { readonly root: string; readonly home: string };
const file = join(root, 'f');
writeFileSync(file, 'one');
const context = openDisk({ home, owner: 'us', durability: 'none' });
const writer = openSync(file, 'a');
retain(context, file);
writeSync(writer, ' two');
closeSync(writer);

const fillers: number[] = [];
const error = fill();
context.held.close();
for (const filler of fillers) closeSync(filler);
const retained = readdirSync(context.retained).map((name) =>
  readFileSync(join(context.retained, name), 'utf8'),
);
process.send?.({ error, retained: retained.sort() });
process.disconnect();

function fill(): string | undefined {
  for (;;) {
    try {
      fillers.push(openSync('/dev/null', 'r'));
    } catch (failed) {
      return errnoOf(failed);
    }
  }
}
