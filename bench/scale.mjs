// Compares the same calls in a small and in a large workspace. The small one has 100 files and 10
// sessions; the large one has 100,000 files and 10,000 sessions. The calling session has seen every
// file of its workspace.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sessions } from '../build/session/sessions.js';
import { interleaved } from './measure.mjs';

const SMALL = { folders: 1, sessions: 10 };
const LARGE = { folders: 1000, sessions: 10_000 };
const FILES_PER_FOLDER = 100;
const TEXT = 'a line of text, as long as lines usually are\n'.repeat(20);
const BAR = 1.2;
/**
 * Lets a session remember 200,000 files. With the default of `maxSightings`, the session of the
 * large workspace would forget most of its files.
 */
const POLICY = { durability: 'none', maxSightings: 200_000 };

export async function rows() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const worlds = [];
  try {
    worlds.push(await World.make(join(base, 'small'), SMALL), await World.make(join(base, 'large'), LARGE));
    const found = [];
    for (const [name, call, rounds] of CALLS) {
      const [small, large] = await interleaved(
        worlds.map((world) => () => call(world)),
        { rounds },
      );
      found.push({ name: `scale: ${name}, large / small`, ratio: large / small, bar: BAR });
    }
    return found;
  } finally {
    for (const world of worlds) await world.sessions.close();
    rmSync(base, { recursive: true, force: true });
  }
}

const CALLS = [
  ['read of a file that was read before', ({ session, path }) => ok(session.read(path)), 2000],
  ['write', (world) => ok(world.session.write(world.path, world.next())), 400],
  ['edit', (world) => ok(world.session.edit(world.path, [world.nextEdit()])), 400],
  ['list of a folder', ({ session, folder }) => ok(session.list(folder)), 400],
  ['status of a file', ({ session, path }) => session.status(path), 400],
  ['undo of the last change', (world) => world.changeAndUndo(), 200],
  ['start of a new session', (world) => world.startSession(), 200],
  ['return of an old session', (world) => world.sessions.session('session-5'), 200],
];

/** A workspace whose main session has read every file, and which other sessions have used. */
class World {
  sessions;
  session;
  folder = 'folder-0';
  path = 'folder-0/file-0.txt';
  #turn = 0;

  static async make(base, { folders, sessions: count }) {
    const world = new World();
    const [root, home] = [join(base, 'root'), join(base, 'home')];
    for (let folder = 0; folder < folders; folder += 1) {
      mkdirSync(join(root, `folder-${folder}`), { recursive: true });
      for (let file = 0; file < FILES_PER_FOLDER; file += 1)
        writeFileSync(join(root, `folder-${folder}`, `file-${file}.txt`), `${folder} ${file}\n${TEXT}`);
    }
    world.sessions = await Sessions.open({ roots: [root], home, policy: POLICY });
    for (let n = 0; n < count; n += 1) {
      const session = await world.sessions.session(`session-${n}`);
      await session.read(world.path);
      await session.close();
    }
    world.session = await world.sessions.session('main');
    for (let folder = 0; folder < folders; folder += 1)
      for (let file = 0; file < FILES_PER_FOLDER; file += 1)
        await ok(world.session.read(`folder-${folder}/file-${file}.txt`));
    await ok(world.session.write(world.path, world.next()));
    return world;
  }

  next() {
    this.#turn += 1;
    return `turn ${this.#turn}\n${TEXT}`;
  }

  nextEdit() {
    const before = `turn ${this.#turn}\n`;
    this.#turn += 1;
    return { oldString: before, newString: `turn ${this.#turn}\n` };
  }

  async changeAndUndo() {
    const turn = this.#turn;
    await ok(this.session.write(this.path, this.next()));
    await ok(this.session.undo());
    this.#turn = turn;
  }

  async startSession() {
    const session = await this.sessions.session();
    await session.close();
  }
}

async function ok(outcome) {
  const result = await outcome;
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result;
}
