import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadDialect } from '../../src/mcp/serve.ts';
import { toolIn } from '../support/tools.mjs';

describe('the list of the default dialect', () => {
  // A model pays for these tokens in every conversation.
  it('takes at most 1,600 tokens of o200k, as many as the documents say', async () => {
    const { countTokens } = await import(await toolIn('tokens', 'gpt-tokenizer/esm/encoding/o200k_base.js'));
    const { tools } = await loadDialect('lookfirst');
    const offered = tools.filter((tool) => tool.needs === undefined);
    const listed = offered.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const tokens: number = countTokens(JSON.stringify(listed));
    expect(tokens).toBeLessThanOrEqual(1600);
    const figure = tokens.toLocaleString('en');
    expect(document('docs/trust.md')).toContain(
      `| names, descriptions and schemas of all tools | ${figure} | \`node bench/tokens.mjs\` |`,
    );
    expect(document('CHANGELOG.md')).toContain(`tool list takes ${figure} tokens`);
  });
});

function document(path: string): string {
  return readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
}
