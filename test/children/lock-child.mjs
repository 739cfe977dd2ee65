// Holds a lock for ever, or increments a shared counter under it:
// `lock-child.mjs HOME range|owner|none hold|count [N]`.
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { LocalLocks } from '../../build/lock/locks.js';

const [home, kind, what, count] = process.argv.slice(2);
const isAlive = (id) => {
  try {
    return process.kill(Number.parseInt(id, 10), 0);
  } catch {
    return false;
  }
};
const locks = new LocalLocks({
  home,
  owner: `${process.pid}`,
  isAlive,
  ...(kind === 'owner' ? { use: 'owner' } : {}),
});
if (what === 'hold') {
  await locks.acquire(['k'], 5000);
  process.send('held');
  setInterval(() => {}, 1000);
} else {
  // Wait until all children are ready, so that they increment the counter at the same time. One
  // after the other, they would lose no increment even without a lock.
  process.send('ready');
  await once(process, 'message');
  const file = join(home, 'counter');
  for (let i = 0; i < Number(count); i += 1) {
    const release = kind === 'none' ? () => {} : await locks.acquire(['k'], 60_000);
    const value = Number(readFileSync(file, 'utf8'));
    await setImmediate();
    writeFileSync(file, String(value + 1));
    release();
  }
  locks.close();
  process.disconnect();
}
