import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PRESET_NAMES } from '../../src/model/policy.ts';
import { type Door, openScene, refused } from '../seeds/doors.ts';
import { Hooked } from '../support/hooked.ts';
import { scratch } from '../support/tree.ts';

const SECRET = 'TOKEN=very-private\nNAME=also-private\n';
const DOORS: readonly Door[] = ['library', 'server', 'proxy'];

it.each(PRESET_NAMES.flatMap((preset) => DOORS.map((door) => ({ preset, door }))))(
  '$preset, $door: a masked view licenses no overwrite',
  async ({ preset, door }) => {
    const t = await openScene(door, { preset, policy: { secrets: 'mask' } });
    t.put('.env', SECRET);
    expect((await t.read('.env')).text).toContain('TOKEN=[masked]');
    await refused(t.write('.env', 'TOKEN=[masked]\nNAME=[masked]\n'), 'REDACTED_READ');
    await refused(t.write('.env', 'TOKEN=new\n'), 'REDACTED_READ');
    expect(t.text('.env')).toBe(SECRET);
  },
);

it.each(PRESET_NAMES)('%s, hooks: a masked view licenses no overwrite', async (preset) => {
  const places = scratch();
  writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ preset }));
  writeFileSync(join(places.root, '.env'), SECRET);
  const agent = new Hooked(places);
  const shown = 'TOKEN=[REDACTED]\nNAME=[REDACTED]\n';
  await agent.read('.env', shown);
  const answer = await agent.change('write', { path: '.env', content: shown }, () => expect.fail('written'));
  expect(answer.verdict).toBe('deny');
});
