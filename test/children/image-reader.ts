// Reads stored file contents, and compresses them now and then, until its parent stops it. Reports
// how often it read and what failed.
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Fingerprint } from '../../src/model/fingerprint.ts';
import { FileImages } from '../../src/store/images/file-images.ts';

const { home, prints }: { readonly home: string; readonly prints: readonly Fingerprint[] } = JSON.parse(
  process.argv[2] ?? '',
);
const images = new FileImages(home, { durability: 'none' });
let stopped = false;
process.once('message', () => {
  stopped = true;
});
process.send?.('ready');
const failures: string[] = [];
let reads = 0;
while (!stopped) {
  for (const print of prints) {
    reads += 1;
    try {
      if (!(await images.has(print.sha256))) failures.push('not there');
      if (hash('sha256', await images.read(print)) !== print.sha256) failures.push('other bytes');
    } catch (error) {
      failures.push(String(error));
    }
  }
  await setImmediate();
  if (reads % 5 === 0)
    await images.pack({ nowMs: Date.now() }).catch((error) => failures.push(String(error)));
}
process.send?.({ reads, failures });
process.disconnect?.();
