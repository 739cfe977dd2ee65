// A program that does not use Lookfirst. It reads its files, increments its own line in each, and
// saves them, until its parent stops it. If it later reads a smaller count than it saved, its save
// was overwritten. Sends these lost saves at the end.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setImmediate, setTimeout } from 'node:timers/promises';

interface Settings {
  readonly how: 'rename' | 'truncate';
  readonly files: readonly string[];
  readonly pauseMs: number;
}

const { how, files, pauseMs } = JSON.parse(process.argv[2] ?? '') as Settings;
const last = new Map<string, { readonly count: number; readonly sha256: string }>();
const lost: { path: string; sha256: string; missedMs: number }[] = [];
let saves = 0;
let stopped = false;
process.on('message', () => {
  stopped = true;
});

function save(path: string, text: string): void {
  if (how === 'truncate') {
    writeFileSync(path, text);
    return;
  }
  writeFileSync(`${path}.saving`, text);
  renameSync(`${path}.saving`, path);
}

function turn(path: string): void {
  const text = readFileSync(path, 'utf8');
  const count = Number(/^outside (\d+)$/m.exec(text)?.[1] ?? -1);
  const mine = last.get(path);
  if (mine !== undefined && count < mine.count)
    lost.push({ path, sha256: mine.sha256, missedMs: Date.now() });
  const next = Math.max(count, mine?.count ?? 0) + 1;
  const saved = text.replace(/^outside \d+$/m, `outside ${next}`);
  save(path, saved);
  last.set(path, { count: next, sha256: createHash('sha256').update(saved).digest('hex') });
  saves += 1;
}

process.send?.('ready');
for (let n = 0; !stopped; n += 1) {
  try {
    turn(files[n % files.length] ?? '');
  } catch (error) {
    // On systems that cannot exchange two names at once, a commit leaves the name absent for a
    // moment.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  await (pauseMs === 0 ? setImmediate() : setTimeout(pauseMs));
}
process.send?.({ saves, lost }, undefined, undefined, () => process.disconnect());
