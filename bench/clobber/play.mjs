// Plays one scene against one guard, and scores it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { blobName, census, differences, makeWorld, missing } from './world.mjs';

const CLOCK_TICK_MS = 10;

/** Plays a scene. Returns what was lost, told and refused, and what the guard itself cost. */
export async function play(guard, scene) {
  const world = makeWorld(scene.made);
  const own = new Set();
  try {
    const watch = await guard.open(world);
    try {
      for (const [path, text] of Object.entries(scene.other ?? {}))
        await write(world, watch, 'other', path, text);
      for (const [path, text] of Object.entries(scene.own ?? {})) {
        await write(world, watch, 'agent', path, text);
        own.add(blobName(Buffer.from(text)));
      }
      for (const path of scene.reads ?? []) await watch.read?.({ session: 'agent', path });
      if (scene.later !== undefined)
        execFileSync('bash', ['-ec', scene.later], { cwd: world.root, env: world.env });
      return { scene: scene.id, kind: scene.kind, ...(await judged({ world, watch, scene, own })) };
    } finally {
      await watch.close?.();
    }
  } finally {
    world.remove();
  }
}

async function judged({ world, watch, scene, own }) {
  const before = census(world, scene.deep);
  const spent = () => cpuMs('self') + (watch.pids?.() ?? []).reduce((sum, pid) => sum + cpuMs(pid), 0);
  const began = spent();
  const { refused, text, ran } = await commands(world, watch, scene);
  const cpu = spent() - began;
  const after = census(world, scene.deep);
  const gone = missing(before, after, own);
  const wronged = { refused, text, ran, cpu, died: gone.flatMap(({ paths }) => paths) };
  if (scene.harmless) return { ...wronged, result: refused ? 'refused' : 'passed' };
  const changed = differences(before, after);
  if (gone.length === 0) {
    if (refused || changed.length === 0) return { ...wronged, result: 'prevented', lost: [], bytes: 0 };
    // The guard holds the bytes inside the world, for example in a commit of its own.
    return {
      ...wronged,
      result: 'recovered',
      told: isTold(text, scene, [{ paths: changed }]),
      lost: [],
      bytes: 0,
    };
  }
  const recovery = await watch.recover?.();
  const final = census(world, scene.deep);
  const lost = missing(before, final, own);
  return {
    ...wronged,
    recovery,
    result: lost.length === 0 ? 'recovered' : 'lost',
    told: isTold(text, scene, gone),
    lost: lost.map(({ paths, id }) => paths[0] ?? id),
    bytes: lost.reduce((sum, { size }) => sum + size, 0),
    differs: differences(before, final),
  };
}

/** The agent runs the lines of a scene. It repeats a refused line only if the scene says so. */
async function commands(world, watch, scene) {
  const texts = [];
  const outputs = [];
  const sh = async (command) => {
    const ended = await world.sh(command);
    outputs.push(ended);
    return ended;
  };
  let refused = false;
  for (const command of [scene.run].flat()) {
    const call = { session: 'agent', command, sh };
    let answer = await watch.run(call);
    texts.push(answer.text ?? '');
    if (answer.refused && scene.insists) {
      answer = await watch.run(call);
      texts.push(answer.text ?? '');
    }
    if (answer.refused) {
      refused = true;
      break;
    }
  }
  const text = [scene.run].flat().reduce((all, command) => all.replaceAll(command, '…'), texts.join('\n'));
  return { refused, text, ran: outputs };
}

/** True if the guard named something that died: its path, its name, its folder, or another name for it. */
function isTold(text, scene, gone) {
  const names = gone.flatMap(({ paths }) => paths.flatMap((path) => [basename(path), ...folders(path)]));
  return [...names, ...(scene.calls ?? [])].some((name) => namesIt(text, name));
}

function folders(path) {
  const up = dirname(path);
  return up === '.' || up.endsWith('..') ? [] : [up, basename(up), ...folders(up)];
}

function namesIt(text, name) {
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(^|[^\\w.])${literal}($|[^\\w])`, 'm').test(text);
}

async function write(world, watch, session, path, text) {
  const make = () => {
    mkdirSync(dirname(join(world.root, path)), { recursive: true });
    writeFileSync(join(world.root, path), text);
  };
  await (watch.write?.({ session, path, text, make }) ?? make());
}

/** The processor time of a process and of the children it has waited for. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 15);
  return fields.reduce((sum, ticks) => sum + Number(ticks), 0) * CLOCK_TICK_MS;
}
