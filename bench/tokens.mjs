// Counts the tokens (o200k) that the default set of tools and its refusals cost a model.
//   node bench/tokens.mjs
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSession, toolset } from '../dist/index.js';
import { toolIn } from '../test/support/tools.mjs';

const MAX_LIST = 1600;
const MAX_REFUSAL = 40;

export async function rows() {
  const { countTokens } = await import(await toolIn('tokens', 'gpt-tokenizer/esm/encoding/o200k_base.js'));
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  try {
    const { list, refusals } = await texts(base);
    const sizes = refusals.map((text) => countTokens(withoutDiff(text))).sort((one, other) => one - other);
    return [
      { name: 'tool list: names, descriptions, schemas, tokens', value: countTokens(list), bar: MAX_LIST },
      {
        name: `median of ${sizes.length} refusals without their diff, tokens`,
        value: sizes[sizes.length >> 1],
        bar: MAX_REFUSAL,
      },
    ];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** The tool list as a client gets it, and the refusals of everyday mistakes. */
async function texts(base) {
  const root = join(base, 'root');
  mkdirSync(join(root, 'src'), { recursive: true });
  const text = Array.from({ length: 30 }, (_, line) => `line ${line + 1}: some text`).join('\n');
  for (const name of ['a.ts', 'b.ts', 'c.ts', 'seen.ts', 'part.ts'])
    writeFileSync(join(root, 'src', name), `${text}\n`);
  const session = await openSession({ roots: [root], home: join(base, 'home'), store: 'memory:' });
  const { tools } = toolset(session);
  const call = async (name, args) => (await tools.find((tool) => tool.name === name).call(args)).text;
  await call('read_file', { path: 'src/seen.ts' });
  await call('read_file', { path: 'src/part.ts', limit: 5 });
  const content = 'new\n';
  const refusals = [
    await call('write_file', { path: 'src/a.ts', content }),
    await call('edit_file', { path: 'src/b.ts', old_string: 'line 1:', new_string: 'x' }),
    await call('delete_path', { path: 'src/c.ts' }),
    await call('write_file', { path: 'src/part.ts', content }),
    await call('write_file', { path: '../outside.ts', content }),
    await call('read_file', { path: 'src/missing.ts' }),
    await call('read_file', { path: 'src' }),
    await call('edit_file', { path: 'src/seen.ts', old_string: 'some text', new_string: 'x' }),
    await call('edit_file', { path: 'src/seen.ts', old_string: 'no such line', new_string: 'x' }),
    await call('write_file', { path: 'src/seen.ts', content, expected_revision: '000000000000' }),
    await call('write_file', {
      path: 'src/seen.ts',
      content: 'one\n// ... rest of the file unchanged ...\n',
    }),
    await call('delete_path', { path: 'src', recursive: true }),
    await call('move_path', { source: 'src/missing.ts', destination: 'src/d.ts' }),
    await call('search_text', { pattern: '(' }),
    await call('undo_change', { change: 'c0000000000' }),
  ];
  writeFileSync(join(root, 'src/seen.ts'), `${text}\nby another program\n`);
  refusals.push(await call('write_file', { path: 'src/seen.ts', content }));
  await session.close();
  const list = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const passed = refusals.filter((refusal) => !/\[[A-Z_]+\]/.test(refusal));
  if (passed.length > 0) throw new Error(`not refused: ${passed[0]}`);
  return { list: JSON.stringify(list), refusals };
}

function withoutDiff(text) {
  return text.replace(/^@@[\s\S]*?(?=^Next:|$(?![\s\S]))/m, '');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await rows());
