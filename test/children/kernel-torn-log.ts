// Writes names of folders into the log of temporary files until its tiny disk is full, makes room
// and continues. Sends the folders that it could log, and the folders that the log contains at the
// end.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LitterLog, logFolder, readLitter } from '../../src/disk/litter-log.ts';

const { home } = JSON.parse(process.argv[2] ?? '') as { readonly home: string };
const filler = join(home, 'filler');
const log = new LitterLog(home, 'torn', 'none');
const written: string[] = [];
let failures = 0;

note('/first');
fill();
// The length of a line does not divide the page size. So the line that fills the disk is written
// only in part.
for (let count = 0; failures === 0; count += 1) note(`/${'x'.repeat(90)}/${count}`);
rmSync(filler);
note('/afterwards');
log.claiming('/afterwards', { claim: 'claim', name: 'name', durability: 'full' });
const lines = readLitter(join(logFolder(home), 'torn.log'));
const claims = lines.filter((line) => 'claim' in line).length;
process.send?.({ written, failures, claims, read: lines.map(({ dir }) => dir) });
process.disconnect();

function note(dir: string): void {
  try {
    log.tempName(dir);
    written.push(dir);
  } catch {
    failures += 1;
  }
}

function fill(): void {
  writeFileSync(filler, '');
  try {
    for (;;) appendFileSync(filler, Buffer.alloc(4096));
  } catch {
    // Ignore the error: the disk is now full.
  }
}
