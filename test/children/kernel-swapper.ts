// The attacker: exchanges two names as fast as it can until its parent stops it. Uses a single
// system call if the system has one. Restores both names at the end and sends the number of
// exchanges.
import { renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';

const { left, right } = JSON.parse(process.argv[2] ?? '') as { left: string; right: string };
let stop = false;
let swaps = 0;

process.once('message', () => {
  stop = true;
});

function swapperOf(): (a: string, b: string) => void {
  try {
    return createRequire(import.meta.url)('fs-native-extensions').swapSync;
  } catch {
    return (a, b) => {
      renameSync(a, `${a}.swap`);
      renameSync(b, a);
      renameSync(`${a}.swap`, b);
    };
  }
}

/** Waits for an irregular time, so that the attacked process does not fall into step with the attacker. */
function pause(): void {
  const untilMs = performance.now() + Math.random() * 0.02;
  while (performance.now() < untilMs);
}

const swap = swapperOf();
process.send?.('ready');
while (!stop) {
  for (let turn = 0; turn < 128; turn += 1) {
    swap(left, right);
    if (swaps % 2 === 0) pause();
    swaps += 1;
  }
  await setImmediate();
}
process.send?.(swaps);
process.disconnect();
