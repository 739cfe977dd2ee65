// Measures how much the state folder grows with each change, on a replay of this repository's own
// history.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Sessions } from '../build/session/sessions.js';
import { FileImages } from '../build/store/images/file-images.js';
import { median } from './measure.mjs';

const THIS = fileURLToPath(import.meta.url);
const PROJECT = fileURLToPath(new URL('../', import.meta.url));
const COMMITS = 120;
const DAY_MS = 24 * 3_600_000;

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const [root, home] = [join(base, 'root'), join(base, 'home')];
  mkdirSync(root);
  try {
    // Replay in a separate process. When that process ends, no process has the store open, and SQLite
    // removes its write-ahead log. The log does not grow with each change, so its size would distort
    // the result.
    const changes = Number(
      execFileSync(process.execPath, [THIS, '--replay', root, home], { encoding: 'utf8' }),
    );
    if (changes === 0) return [];
    const whole = sizeOf(home) / changes;
    const images = new FileImages(home, { durability: 'none' });
    await images.pack({ nowMs: Date.now() + 2 * DAY_MS });
    const packed = sizeOf(home) / changes;
    return [
      { name: `state: KB a change, ${changes} changes, same day`, value: kb(whole) },
      { name: `state: KB a change, ${changes} changes, after a day`, value: kb(packed), bar: '<= 5' },
      { name: 'state: reading one compressed image, ms', value: await readingMs(images, home), bar: '<= 2' },
    ];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** Writes every version of every source file as one session, oldest first. Returns the number of changes. */
async function replay(root, home) {
  const sessions = await Sessions.open({ roots: [root], home, policy: { durability: 'none' } });
  const session = await sessions.session('replay');
  let changes = 0;
  try {
    for (const commit of git('rev-list', '--reverse', '--no-merges', `-${COMMITS}`, 'HEAD')
      .trim()
      .split('\n')) {
      const names = git(
        'diff-tree',
        '--no-commit-id',
        '--name-only',
        '--diff-filter=AM',
        '-r',
        commit,
        '--',
        'src',
      );
      for (const name of names.split('\n').filter((each) => each.endsWith('.ts'))) {
        const outcome = await session.write(name, git('show', `${commit}:${name}`));
        if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
        changes += 1;
      }
    }
  } finally {
    await sessions.close();
  }
  return changes;
}

function git(...args) {
  return execFileSync('git', args, { cwd: PROJECT, encoding: 'utf8', maxBuffer: 64 << 20 });
}

async function readingMs(images, home) {
  const times = [];
  for (const name of readdirSync(join(home, 'images'), { recursive: true })) {
    const sha256 = /([0-9a-f]{64})\.packed$/.exec(name)?.[1];
    if (sha256 === undefined) continue;
    const start = performance.now();
    // This benchmark does not know the file's real size. With the wrong size, the read fails only
    // at its end, so its time is still that of a full read.
    await images.read({ sha256, size: 1 << 20 }).catch(() => undefined);
    times.push(performance.now() - start);
  }
  return Number(median(times).toFixed(2));
}

function sizeOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? sizeOf(path) : statSync(path).size);
  }, 0);
}

function kb(bytes) {
  return Number((bytes / 1024).toFixed(1));
}

if (process.argv[1] === THIS && process.argv[2] === '--replay')
  process.stdout.write(String(await replay(process.argv[3], process.argv[4])));
