import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/** Texts by path; null: the file does not exist. */
type Tree = Readonly<Record<string, string | null>>;

interface Call {
  readonly call: string;
  readonly args?: object;
  /** Fields that the outcome must have; without `ok`, success is expected. */
  readonly outcome?: Readonly<Record<string, unknown>>;
  /** Regular expressions that the answer must match, in this order. */
  readonly text?: readonly string[];
  /**
   * Fields of the outcome to remember. The keys are the names that later arguments use for them.
   */
  readonly keep?: Readonly<Record<string, string>>;
}

type Step = Call | { readonly outside: Tree } | { readonly restart: true };

/**
 * A test of the server through its tools. It consists of the files before, the steps (calls,
 * changes from outside, restarts), and the files after.
 */
interface Scenario {
  readonly title: string;
  readonly args?: readonly string[];
  readonly before: Tree;
  readonly steps: readonly Step[];
  readonly after: Tree;
}

const folder = import.meta.dirname;
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

describe('scenarios', () => {
  it('exist', () => {
    expect(files.length).toBeGreaterThan(15);
  });

  it.each(files.map((name) => [name, readScenario(name)] as const))('%s', async (_name, scenario) => {
    const places = scratch();
    put(places, scenario.before);
    let served = await Served.here(places, scenario.args);
    const kept = new Map<string, unknown>();
    for (const [index, step] of scenario.steps.entries()) {
      if ('outside' in step) put(places, step.outside);
      else if ('restart' in step) {
        await served.stop();
        served = await Served.here(places, scenario.args);
      } else await perform(served, step, { kept, where: `step ${index + 1}` });
    }
    expect(await served.stop()).toBe(0);
    expect(treeOf(places.root)).toEqual(scenario.after);
  });
});

async function perform(
  served: Served,
  step: Call,
  { kept, where }: { kept: Map<string, unknown>; where: string },
): Promise<void> {
  const args = JSON.parse(JSON.stringify(step.args ?? {}), (_key, value) => kept.get(value) ?? value);
  const answer = await served.call(step.call, args);
  expect(answer.outcome, `${where}: ${answer.text}`).toMatchObject({ ok: true, ...step.outcome });
  expect(answer.ok, where).toBe(answer.outcome['ok']);
  let rest = answer.text;
  for (const expression of step.text ?? []) {
    const found = new RegExp(expression, 's').exec(rest);
    expect(found, `${where}: ${expression} in ${rest}`).not.toBeNull();
    rest = rest.slice((found?.index ?? 0) + (found?.[0].length ?? 0));
  }
  for (const [name, member] of Object.entries(step.keep ?? {})) {
    expect(answer.outcome[member], `${where}: ${member}`).toBeTypeOf('string');
    kept.set(name, answer.outcome[member]);
  }
}

function readScenario(name: string): Scenario {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Scenario;
}

function put({ root }: Scratch, tree: Tree): void {
  for (const [name, text] of Object.entries(tree)) {
    const path = join(root, name);
    if (text === null) rmSync(path, { recursive: true });
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }
}

/** Every file with its text, and every empty folder. */
function treeOf(root: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const entry of readdirSync(root, { recursive: true })) {
    const name = String(entry);
    const path = join(root, name);
    if (!statSync(path).isDirectory()) tree[name] = readFileSync(path, 'utf8');
    else if (readdirSync(path).length === 0) tree[`${name}/`] = '';
  }
  return tree;
}
