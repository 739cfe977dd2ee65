import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { toolIn } from '../support/tools.mjs';

const project = join(import.meta.dirname, '../..');
const modules = join(import.meta.dirname, 'node_modules');
const STALE_MS = 120_000;

export async function prepare() {
  await alone(() => {
    toolIn('adapters', 'ai/package.json');
    const built = String(statSync(join(project, 'dist/bin/lookfirst.js')).mtimeMs);
    const copy = join(modules, 'lookfirst');
    const mark = join(copy, '.built');
    if (existsSync(mark) && readFileSync(mark, 'utf8') === built) return;
    rmSync(copy, { recursive: true, force: true });
    mkdirSync(copy);
    cpSync(join(project, 'dist'), join(copy, 'dist'), { recursive: true });
    cpSync(join(project, 'package.json'), join(copy, 'package.json'));
    writeFileSync(mark, built);
  });
}

/**
 * Runs `work` in one process at a time. A lock that is older than two minutes is removed, because
 * its process has died.
 */
async function alone(work) {
  const name = createHash('sha256').update(modules).digest('hex').slice(0, 16);
  const lock = join(tmpdir(), `lookfirst-prepare-${name}`);
  while (!taken(lock)) {
    const { mtimeMs } = statSync(lock, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > STALE_MS) rmSync(lock, { recursive: true, force: true });
    else await setTimeout(50);
  }
  try {
    work();
  } finally {
    rmdirSync(lock);
  }
}

function taken(lock) {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}
