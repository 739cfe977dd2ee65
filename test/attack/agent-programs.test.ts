// Real agent programs with their own tools, behind the hooks that `init` writes. Only their model is scripted.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { AGENT_PROGRAMS, type AgentProgram, runProgram } from '../support/agent-programs.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { ScriptedModel } from '../support/scripted-model.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import {
  bytesIn,
  EDITS,
  mixedRepository,
  READ_FIRST,
  refsOf,
  shellLines,
  type Way,
} from '../support/whole-session.ts';

const here = await sandboxHere();

let places: Scratch;

beforeEach(() => {
  places = scratch();
  execFileSync('git', ['init', '-q', places.root]);
});

function put(name: string, text: string): string {
  const path = join(places.root, name);
  writeFileSync(path, text);
  return path;
}

function get(name: string): string {
  return readFileSync(join(places.root, name), 'utf8');
}

async function hook({ name }: AgentProgram): Promise<void> {
  const { code, stderr } = await lookfirst(places, ['init', name, '--hooks'], {
    env: { HOME: places.outside },
  });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

async function changes(): Promise<readonly Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--limit', '0', '--json']));
}

describe.each(AGENT_PROGRAMS)('$name', (program) => {
  it('may change only what it has read; its changes are recorded and undone', async () => {
    const path = put('a.txt', 'one\ntwo\n');
    await hook(program);
    const model = await ScriptedModel.start([
      program.edit(path, 'two', 'TWO'),
      program.read(path),
      program.edit(path, 'two', 'TWO'),
      program.run('echo three >> a.txt'),
      program.edit(path, 'three', 'THREE'),
    ]);
    const printed = await runProgram(program, places, model);
    expect(model.results, printed).toHaveLength(5);
    expect(model.results[0]).toContain('NOT_READ');
    expect(get('a.txt')).toBe('one\nTWO\nTHREE\n');
    const made = await changes();
    expect(made.map(({ action }) => action)).toEqual(['edit', 'run', 'edit']);
    const session = String(made[0]?.['session']);
    expect(await lookfirst(places, ['undo', '--session', session, '--yes'])).toMatchObject({ code: 0 });
    expect(get('a.txt')).toBe('one\ntwo\n');
  });
});

it.each(
  AGENT_PROGRAMS.flatMap((program): { name: string; program: AgentProgram; way: Way }[] => {
    const ways: readonly Way[] =
      program.name === 'claude-code' && here !== undefined
        ? ['without a layer', 'on layers']
        : ['without a layer'];
    return ways.map((way) => ({ name: program.name, program, way }));
  }),
)('an undo of a whole session of $name $way restores every byte', async ({ program, way }) => {
  const { root, home, outside } = places;
  mixedRepository(root);
  mkdirSync(home, { recursive: true });
  if (way === 'without a layer')
    writeFileSync(join(home, 'lookfirst.json'), '{"hooks": {"shell": "images"}}');
  await hook(program);
  const [before, refs] = [bytesIn(root, way), refsOf(root)];
  const model = await ScriptedModel.start([
    ...READ_FIRST.map((file) => program.read(join(root, file))),
    ...EDITS.map(([file, from, to]) => program.edit(join(root, file), from, to)),
    ...shellLines(outside).map((line) => program.run(line)),
  ]);
  const printed = await runProgram(program, places, model);
  expect(model.results.join('\n'), printed).not.toContain('refus');
  expect(bytesIn(root, way)).not.toEqual(before);
  const session = String((await changes())[0]?.['session']);
  const undone = await lookfirst(places, ['undo', '--session', session, '--yes']);
  expect(undone).toMatchObject({ code: 0, stderr: '' });
  expect(bytesIn(root, way)).toEqual(before);
  if (way === 'on layers') expect(refsOf(root)).toBe(refs);
});

const [claudeCode, codex, gemini, opencode] = AGENT_PROGRAMS as [
  AgentProgram,
  AgentProgram,
  AgentProgram,
  AgentProgram,
];
const LINES = Array.from({ length: 10 }, (_, at) => at);

it.each([
  [claudeCode, codex],
  [gemini, opencode],
])(
  '$name and another program edit one file at the same time: no edit is lost, each is recorded once',
  async (...pair) => {
    const path = put('a.txt', pair.flatMap(({ name }) => LINES.map((at) => `${name} ${at} old\n`)).join(''));
    const started = [];
    for (const program of pair) {
      await hook(program);
      const script = LINES.flatMap((at) => {
        const edit = program.edit(path, `${program.name} ${at} old`, `${program.name} ${at} new`);
        // Repeat the read and the edit: the first edit is refused if the other program writes at
        // the same moment.
        return [program.read(path), edit, program.read(path), edit];
      });
      started.push({ program, model: await ScriptedModel.start(script) });
    }
    await Promise.all(started.map(({ program, model }) => runProgram(program, places, model)));
    expect(get('a.txt')).not.toContain('old');
    expect(get('a.txt').split('\n')).toHaveLength(21);
    expect(await changes()).toHaveLength(20);
  },
);
