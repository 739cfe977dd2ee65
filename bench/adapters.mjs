// What an adapter adds to a call: its tool, called as the framework calls it, beside the session's own method.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lookfirstTools as aiTools } from '../dist/ai-sdk.js';
import { lookfirstTools as anthropicTools } from '../dist/anthropic.js';
import { openSession, toolset } from '../dist/index.js';
import { lookfirstTools as openaiTools } from '../dist/openai.js';
import { interleaved } from './measure.mjs';

const ROUNDS = 300;
const TEXT = `${'some text of a line\n'.repeat(400)}count 0\n`;

export async function rows() {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-bench-'));
  const [root, home] = ['root', 'home'].map((name) => join(base, name));
  for (const folder of [root, home]) mkdirSync(folder);
  const session = await openSession({ roots: [root], home });
  try {
    return await measured(session, root);
  } finally {
    await session.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Each door reads and edits a file of its own, as the model's framework would let it. */
async function measured(session, root) {
  const own = new Map(toolset(session).tools.map((tool) => [tool.name, tool]));
  const ai = aiTools(session);
  const anthropic = new Map(anthropicTools(session).map((tool) => [tool.name, tool]));
  const openai = new Map(openaiTools(session).map((tool) => [tool.name, tool]));
  const doors = [
    [
      'session',
      (path) => session.read(path),
      (path, from, to) => session.edit(path, [{ oldString: from, newString: to }]),
    ],
    ...Object.entries({
      toolset: (name, args) => own.get(name).call(args),
      'ai-sdk': async (name, args) => {
        const answer = ai[name].execute(args, {});
        if (answer instanceof Promise) return answer;
        let last;
        for await (const each of answer) last = each;
        return last;
      },
      anthropic: (name, args) => anthropic.get(name).run(args, {}),
      openai: (name, args) => openai.get(name).invoke(undefined, JSON.stringify(args), {}),
    }).map(([door, call]) => [
      door,
      (path) => call('read_file', { path }),
      (path, from, to) => call('edit_file', { path, old_string: from, new_string: to }),
    ]),
  ];
  for (const [door] of doors) writeFileSync(join(root, `${door}.txt`), TEXT);
  for (const [door, read] of doors) await read(`${door}.txt`);
  const counts = doors.map(() => 0);
  const edits = doors.map(([door, , edit], index) => async () => {
    const count = counts[index]++;
    await edit(`${door}.txt`, `count ${count}\n`, `count ${count + 1}\n`);
  });
  const reads = doors.map(
    ([door, read]) =>
      () =>
        read(`${door}.txt`),
  );
  const edited = await interleaved(edits, { rounds: ROUNDS });
  const shown = await interleaved(reads, { rounds: ROUNDS });
  const [direct, tool] = shown;
  return [
    ...doors
      .slice(1)
      .map(([door], index) => row('edit', door, edited[index + 1] / edited[0], 'session.edit')),
    // A tool numbers the lines for the model, which `session.read` leaves to its caller.
    { ...row('read', 'toolset', tool / direct, 'session.read'), bar: undefined },
    ...doors.slice(2).map(([door], index) => row('read', door, shown[index + 2] / tool, 'toolset')),
  ];
}

function row(what, door, ratio, against) {
  return {
    name: `adapters: ${what} through ${door} ÷ ${against}`,
    ratio: Number(ratio.toFixed(3)),
    bar: 1.05,
  };
}
