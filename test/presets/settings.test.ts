import { describe, expect, it } from 'vitest';
import { PRESETS } from '../../src/config/presets.ts';
import { PRESET_NAMES, type PresetName } from '../../src/model/policy.ts';
import { type Door, openScene, type Said, type Scene } from '../seeds/doors.ts';

/**
 * A setting, a call that tests it (`play`), and the presets that allow the call (`allowed`). Each
 * preset copies the rules of another system.
 */
interface Row {
  readonly setting: string;
  readonly allowed: readonly PresetName[];
  /**
   * The ways to use Lookfirst in which the setting has an effect. It has none if another program
   * shows or writes the text.
   */
  readonly doors: readonly Door[];
  play(t: Scene): Promise<boolean>;
}

const SEEDS: readonly PresetName[] = ['sandbox', 'file-time', 'thread-history', 'staleness'];
const OWN: readonly Door[] = ['library', 'server'];
const ALL: readonly Door[] = [...OWN, 'proxy', 'hooks'];
const TOKEN = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;

const allows = async (answer: Promise<Said>): Promise<boolean> => (await answer).ok;

const ROWS: readonly Row[] = [
  {
    setting: 'append: free',
    allowed: ['default', 'staleness'],
    doors: OWN,
    play: (t) => allows(t.insert('unread.txt', 'x\n')),
  },
  {
    setting: 'empty: exempt',
    allowed: ['default', 'strict', 'staleness'],
    doors: ALL,
    play: (t) => allows(t.write('empty.txt', 'x\n')),
  },
  {
    setting: 'matching: safe',
    allowed: ['default', 'strict'],
    doors: OWN,
    play: async (t) => {
      await t.read('code.txt');
      return allows(t.edit('code.txt', 'a {\n  b\n}', 'a {\n  c\n}'));
    },
  },
  {
    setting: 'form: keep',
    allowed: ['default', 'strict'],
    doors: OWN,
    play: async (t) => {
      await t.read('crlf.txt');
      await t.write('crlf.txt', 'two\n');
      return t.text('crlf.txt') === 'two\r\n';
    },
  },
  {
    setting: 'secrets: mask',
    allowed: ['default', 'strict', 'sandbox'],
    doors: OWN,
    play: async (t) => !(await t.read('token.txt')).text.includes(TOKEN),
  },
  {
    // The file has changed since it was read. `default` and `strict` refuse with a diff, which
    // counts as read. `sandbox` and `thread-history` overwrite the file and add a note. `staleness`
    // does so when the call is repeated. `file-time` requires another read.
    setting: 'cure: diff',
    allowed: ['default', 'strict', 'sandbox', 'thread-history', 'staleness'],
    doors: ALL,
    play: async (t) => {
      await t.read('stale.txt');
      t.put('stale.txt', 'theirs\n');
      await t.write('stale.txt', 'mine\n');
      await t.write('stale.txt', 'mine and theirs\n');
      return allows(t.write('stale.txt', 'mine and theirs\n'));
    },
  },
];

describe.each(ALL)('%s', (door) => {
  it.each(PRESET_NAMES)('%s', async (preset) => {
    const t = await openScene(door, { preset });
    t.put('unread.txt', 'one\n');
    t.put('empty.txt', '');
    t.put('code.txt', 'x\n    a {\n      b\n    }\n');
    t.put('crlf.txt', 'one\r\n');
    t.put('token.txt', `token ${TOKEN}\n`);
    t.put('stale.txt', 'one\n');
    const rows = ROWS.filter(({ doors }) => doors.includes(door));
    const found: [string, boolean][] = [];
    for (const { setting, play } of rows) found.push([setting, await play(t)]);
    expect(found).toEqual(rows.map(({ setting, allowed }) => [setting, allowed.includes(preset)]));
  });
});

it('no seed preset limits the number of sightings', () => {
  expect(SEEDS.map((seed) => PRESETS[seed].maxSightings)).toEqual([0, 0, 0, 0]);
});
