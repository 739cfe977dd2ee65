import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepare } from './prepare.mjs';
import { runsExample } from './run-example.ts';

await prepare();
const examples = join(import.meta.dirname, '../../examples');
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
});

// The example of the Claude Agent SDK runs in claude-code.test.ts.
for (const name of AGENTS) if (name !== 'claude-agent-sdk.mjs') runsExample(name);
