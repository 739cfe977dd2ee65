// Counts wrong decisions of Lookfirst and of four simpler rules from earlier tools. A wrong
// decision refuses a harmless change, or allows a change that overwrites unseen text. Two rules
// compare mtime, or mtime and size. The other two keep a set of files that were read; one of them
// clears this set at a compaction.
//   node bench/false-alarms.mjs [--json] [--repeats N]
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSession } from '../dist/index.js';

const LINES = Array.from({ length: 40 }, (_, index) => `line ${index + 1}: some text`);
export const TEXT = `${LINES.join('\n')}\n`;
const REPEATS = Number(process.argv[process.argv.indexOf('--repeats') + 1]) || 20;

/** Each mix: the events between the read and the change, the agent's change, and whether it should be allowed. */
export const MIXES = [
  mix('formatter rewrites the same bytes', 'allow', 'overwrite', (f) => writeFileSync(f, TEXT)),
  mix('autosave of an unchanged buffer', 'allow', 'overwrite', (f) => rewriteByRename(f, TEXT)),
  mix('branch switch and back', 'allow', 'overwrite', (f) => {
    writeFileSync(f, 'another branch\n');
    writeFileSync(f, TEXT);
  }),
  mix('cloud sync touches the times', 'allow', 'overwrite', (f) =>
    utimesSync(f, new Date(), new Date(Date.now() + 5000)),
  ),
  mix('times go backwards, bytes stay', 'allow', 'overwrite', (f) => utimesSync(f, 1e9, 1e9)),
  mix('deleted and restored from a copy', 'allow', 'overwrite', (f) => {
    copyFileSync(f, `${f}.copy`);
    rmSync(f);
    renameSync(`${f}.copy`, f);
  }),
  mix('own write, then own edit', 'allow', 'write and edit', () => {}),
  mix('formatter changes other lines, then an edit', 'allow', 'edit', (f) =>
    writeFileSync(f, TEXT.replace('line 3: some text', 'line 3:  formatted')),
  ),
  mix('colleague edits another place, then an edit', 'allow', 'edit', (f) =>
    rewriteByRename(f, `${TEXT}one more line\n`),
  ),
  mix('compaction, then an edit of an unchanged file', 'allow', 'edit', () => {}, 'compact'),
  mix('outside edit, then an overwrite', 'refuse', 'overwrite', (f) => writeFileSync(f, `${TEXT}by hand\n`)),
  mix('outside edit of the same size', 'refuse', 'overwrite', (f) =>
    writeFileSync(f, TEXT.replace('line 7', 'LINE 7')),
  ),
  mix('same size, times restored', 'refuse', 'overwrite', (f) =>
    keepTimes(f, () => writeFileSync(f, TEXT.replace('line 7', 'LINE 7'))),
  ),
  mix('other bytes with older times', 'refuse', 'overwrite', (f) => {
    writeFileSync(f, `${TEXT}by hand\n`);
    utimesSync(f, 1e9, 1e9);
  }),
  mix('replaced by a file of the same size and times', 'refuse', 'overwrite', (f) =>
    keepTimes(f, () => rewriteByRename(f, TEXT.replace('line 9', 'LINE 9'))),
  ),
  mix('edit of the very text that changed', 'refuse', 'edit', (f) =>
    writeFileSync(f, TEXT.replace('line 20: some text', 'line 20: by hand')),
  ),
  mix('overwrite after reading five lines', 'refuse', 'overwrite', () => {}, 'partial'),
  mix('overwrite after compaction', 'refuse', 'overwrite', () => {}, 'compact'),
  mix('overwrite of a file never read', 'refuse', 'overwrite', () => {}, 'unread'),
];

function mix(name, truth, change, outside, reading = 'whole') {
  return { name, truth, change, outside, reading };
}

function rewriteByRename(file, text) {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function keepTimes(file, work) {
  const { atime, mtime } = statSync(file);
  work();
  utimesSync(file, atime, mtime);
}

export const OLD = 'line 20: some text';
export const NEW = 'line 20: by the agent';

function lookfirst() {
  return {
    name: 'Lookfirst',
    async play({ root, home, file }, { reading, change, outside }) {
      const session = await openSession({
        roots: [root],
        home,
        store: 'memory:',
        policy: { durability: 'none' },
      });
      try {
        if (reading !== 'unread') await session.read('a.txt', reading === 'partial' ? { limit: 5 } : {});
        if (reading === 'compact') await session.compacted();
        outside(file);
        if (change === 'write and edit')
          await session.write('a.txt', `${TEXT}${OLD}!\n`.replace(`${OLD}\n`, ''));
        if (change === 'overwrite') return (await session.write('a.txt', 'replaced\n')).ok;
        return (await session.edit('a.txt', [{ oldString: OLD, newString: NEW }])).ok;
      } finally {
        await session.close();
      }
    },
  };
}

/** A rule of an earlier guard: what it records at a read, and how it decides whether the file is still fresh. */
function seedRule(name, { record, fresh, compaction }) {
  return {
    name,
    async play({ file }, { reading, change, outside }) {
      let known = reading === 'unread' ? undefined : record(file);
      if (reading === 'compact' && compaction === 'clear') known = undefined;
      outside(file);
      if (known === undefined || !fresh(file, known)) return false;
      if (change === 'write and edit')
        known = write(file, `${TEXT}${OLD}!\n`.replace(`${OLD}\n`, ''), record);
      if (!fresh(file, known)) return false;
      if (change === 'overwrite') return true;
      return readFileSync(file, 'utf8').includes(OLD);
    },
  };
}

function write(file, text, record) {
  writeFileSync(file, text);
  return record(file);
}

const GUARDS = [
  lookfirst(),
  seedRule('mtime, newer is stale', {
    record: (file) => statSync(file).mtimeMs,
    fresh: (file, mtime) => statSync(file).mtimeMs <= mtime,
  }),
  seedRule('mtime and size', {
    record: (file) => statSync(file),
    fresh: (file, then) => statSync(file).mtimeMs === then.mtimeMs && statSync(file).size === then.size,
  }),
  seedRule('set of files read', { record: () => true, fresh: () => true }),
  seedRule('reads since compaction', { record: () => true, fresh: () => true, compaction: 'clear' }),
];

/**
 * Plays all mixes against each guard. Counts the changes that the guard wrongly refused and wrongly
 * allowed, and lists the mixes with a wrong decision.
 */
export async function score() {
  const scores = [];
  for (const guard of GUARDS) {
    let wrongRefusals = 0;
    let missedClobbers = 0;
    const wrong = new Set();
    for (const each of MIXES) {
      for (let repeat = 0; repeat < REPEATS; repeat += 1) {
        const went = await playOne(guard, each);
        if (went === (each.truth === 'allow')) continue;
        wrong.add(each.name);
        if (went) missedClobbers += 1;
        else wrongRefusals += 1;
      }
    }
    scores.push({
      guard: guard.name,
      plays: MIXES.length * REPEATS,
      wrongRefusals,
      missedClobbers,
      wrong: [...wrong],
    });
  }
  return scores;
}

async function playOne(guard, each) {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-alarms-'));
  const places = { root: base, home: join(base, '.home'), file: join(base, 'a.txt') };
  writeFileSync(places.file, TEXT);
  try {
    return await guard.play(places, each);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** Rows for `npm run bench`. */
export async function rows() {
  return (await score()).flatMap(({ guard, plays, wrongRefusals, missedClobbers }) => [
    {
      name: `wrong refusals in ${plays} plays: ${guard}`,
      value: wrongRefusals,
      ...(guard === 'Lookfirst' ? { bar: 0 } : {}),
    },
    {
      name: `missed clobbers in ${plays} plays: ${guard}`,
      value: missedClobbers,
      ...(guard === 'Lookfirst' ? { bar: 0 } : {}),
    },
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const scores = await score();
  if (process.argv.includes('--json')) console.log(JSON.stringify(scores));
  else console.table(scores.map(({ wrong, ...rest }) => ({ ...rest, wrong: wrong.length })));
}
