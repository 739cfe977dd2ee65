// Replays public incidents in which a coding agent destroyed work, and counts for each guard which
// bytes are gone for good.
//   node bench/clobber.mjs [--guards NAME,NAME] [--only TEXT] [--part N/OF] [--json] [--details]
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { play } from './clobber/play.mjs';
import { SCENES } from './clobber/scenes.mjs';
import { TWINS } from './clobber/twins.mjs';

const folder = new URL('./clobber/guards/', import.meta.url);

/** The guards in `clobber/guards`, in the order of their `rank`, that this machine can run. */
export async function guardsNamed(names) {
  const files = readdirSync(folder).filter(
    (file) => names === undefined || names.includes(basename(file, '.mjs')),
  );
  const guards = [];
  for (const file of files) {
    const { guard } = await import(new URL(file, folder));
    const missing = await guard.missing?.();
    if (missing === undefined) guards.push({ id: basename(file, '.mjs'), rank: 5, ...guard });
    else process.stderr.write(`${guard.name}: left out (${missing})\n`);
  }
  return guards.sort((a, b) => a.rank - b.rank);
}

/** The scenes and twins that this machine can play. `part` is a third of them, for example `1/3`. */
export function chosen({ only, part } = {}) {
  const [at, of] = (part ?? '1/1').split('/').map(Number);
  const all = [...SCENES, ...TWINS.map((twin) => ({ ...twin, harmless: true }))];
  const playable = all.filter(({ needs }) => needs === undefined || isInstalled(needs));
  return playable.filter(
    ({ id, kind }, index) =>
      index % of === at - 1 && (only === undefined || id.includes(only) || kind === only),
  );
}

const installed = new Map();

function isInstalled(program) {
  if (!installed.has(program))
    installed.set(
      program,
      process.env.PATH.split(':').some((place) => existsSync(`${place}/${program}`)),
    );
  return installed.get(program);
}

/** Plays scenes against a guard. Returns one result for each. */
export async function playAll(guard, scenes, each = () => {}) {
  const results = [];
  for (const scene of scenes) {
    const result = await play(guard, scene).catch((cause) => {
      throw new Error(`${guard.name}, ${scene.id}`, { cause });
    });
    results.push(result);
    each(result);
  }
  return results;
}

/** The row of a guard in the table. */
export function scored(guard, results) {
  const harm = results.filter(({ lost, result }) => lost !== undefined || result === 'prevented');
  const count = (result) => harm.filter((each) => each.result === result).length;
  const harmless = results.filter(({ result }) => result === 'passed' || result === 'refused');
  return {
    guard: guard.name,
    prevented: count('prevented'),
    recovered: count('recovered'),
    lost: count('lost'),
    bytes: harm.reduce((sum, { bytes }) => sum + bytes, 0),
    untold: harm.filter(({ told }) => told === false).length,
    wrongRefusals: harmless.filter(({ result }) => result === 'refused').length,
    cpuMs: results.length === 0 ? 0 : results.reduce((sum, { cpu }) => sum + cpu, 0) / results.length,
  };
}

/** Rows for `npm run bench`. */
export async function rows() {
  const scenes = chosen();
  const all = [];
  for (const guard of await guardsNamed()) all.push(scored(guard, await playAll(guard, scenes)));
  process.stdout.write(table(all, scenes));
  return all.flatMap(({ guard, lost, untold, wrongRefusals }) => {
    const bar = guard.startsWith('Lookfirst') ? { bar: 0 } : {};
    return [
      { name: `scenes with bytes lost for good: ${guard}`, value: lost, ...bar },
      { name: `scenes in which the agent was told nothing: ${guard}`, value: untold, ...bar },
      { name: `harmless commands refused: ${guard}`, value: wrongRefusals, ...bar },
    ];
  });
}

function table(all, scenes) {
  const harmless = scenes.filter((scene) => scene.harmless).length;
  const none = all.find(({ guard }) => guard === 'none')?.cpuMs ?? 0;
  const head = [
    'guard',
    'prevented',
    'recovered',
    'lost for good',
    'bytes lost',
    'agent not told',
    `wrong refusals of ${harmless}`,
    'CPU ms',
  ];
  const lines = all.map((row) => [
    row.guard,
    row.prevented,
    row.recovered,
    row.lost,
    row.bytes,
    row.untold,
    row.wrongRefusals,
    Math.max(0, Math.round(row.cpuMs - none)),
  ]);
  const title = `${scenes.length - harmless} scenes, ${harmless} harmless twins, git ${gitVersion()}`;
  return `${title}\n\n${[head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')}\n`;
}

function gitVersion() {
  return execFileSync('git', ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1);
}

function flag(name) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : (process.argv[at + 1] ?? '');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const scenes = chosen({ only: flag('only'), part: flag('part') });
  const all = [];
  for (const guard of await guardsNamed(flag('guards')?.split(','))) {
    const print = (result) => console.log(JSON.stringify({ guard: guard.name, ...result }));
    const results = await playAll(guard, scenes, process.argv.includes('--details') ? print : undefined);
    all.push({ ...scored(guard, results), results });
  }
  if (process.argv.includes('--json')) console.log(JSON.stringify(all));
  else process.stdout.write(table(all, scenes));
}
