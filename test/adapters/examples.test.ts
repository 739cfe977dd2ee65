import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratch } from '../support/tree.ts';
import { prepare } from './prepare.mjs';

await prepare();
const examples = join(import.meta.dirname, '../../examples');
/**
 * A copy of the examples beside the installed frameworks, so that the examples find them as in a
 * user's project.
 */
const copy = join(import.meta.dirname, 'node_modules', `.examples-${process.pid}`);
const AGENTS = readdirSync(examples).filter((name) => name.endsWith('.mjs') && name !== 'workspace.mjs');

/** The lines of an example that connect its agent to Lookfirst, as the example's comments mark them. */
function glueIn(text: string): readonly string[] {
  const block =
    /^\/\/ The next lines connect the agent to Lookfirst\.\n([\s\S]*?)^\/\/ End of the lines for Lookfirst\.$/gm;
  const blocks = [...text.matchAll(block)].flatMap(
    (match) => match[1]?.split('\n').filter((line) => line.trim() !== '') ?? [],
  );
  const marked = /\S.*\/\/ This line connects the agent to Lookfirst\.$/;
  return [...blocks, ...text.split('\n').filter((line) => marked.test(line))];
}

describe('the examples', () => {
  beforeAll(() => cpSync(examples, copy, { recursive: true }));
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('contain one agent for each framework', () => {
    expect(AGENTS.map((name) => name.replace('.mjs', ''))).toEqual([
      'ai-sdk',
      'anthropic',
      'claude-agent-sdk',
      'deepagents',
      'langchain',
      'openai',
    ]);
  });

  it.each(AGENTS)('%s: has fewer than 60 lines, at most 10 of them glue', (name) => {
    const text = readFileSync(join(examples, name), 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThan(60);
    expect(glueIn(text).length).toBeGreaterThan(2);
    expect(glueIn(text).length).toBeLessThanOrEqual(10);
  });

  it.each(AGENTS)('%s: gets a refusal for a blind change, reads the file, and repeats the change', (name) => {
    const { base, home } = scratch();
    // The environment contains no API keys: every example runs offline.
    const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: base, LOOKFIRST_HOME: home };
    const out = execFileSync(process.execPath, [join(copy, name)], { env, encoding: 'utf8' });
    expect(out).toMatch(/refusing to \w+ \S*greeting\.txt: read it first \[NOT_READ\]/m);
    expect(out).toContain('greeting.txt: Hello, world!');
  });
});
