// Measures how much the state folder grows with each change, on a replay of this repository's own
// history.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Sessions } from '../build/session/sessions.js';
import { openRecordedState } from '../build/store/open-state.js';
import { median } from './measure.mjs';

const THIS = fileURLToPath(import.meta.url);
const PROJECT = fileURLToPath(new URL('../', import.meta.url));
const COMMITS = 120;

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
    return [
      { name: `state: KB a change, ${changes} changes`, value: kb(sizeOf(home) / changes) },
      { name: 'state: reading one before-image, ms', value: await readingMs(home), bar: '<= 2' },
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

async function readingMs(home) {
  const { store, images } = await openRecordedState(`sqlite:${join(home, 'lookfirst.db')}`, {
    home,
    missing: 'empty',
  });
  try {
    const times = [];
    for await (const { sha256, bytes } of images.list()) {
      const start = performance.now();
      await images.read({ sha256, size: bytes });
      times.push(performance.now() - start);
    }
    if (times.length === 0) throw new Error('no before-image is kept');
    return Number(median(times).toFixed(2));
  } finally {
    await store.close();
  }
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
