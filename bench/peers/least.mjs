// The smallest server possible in Node: answers the calls of bench/server.mjs with plain system
// calls. It checks and hashes nothing, and keeps no journal.
import { closeSync, openSync, readdirSync, readFileSync, readSync, renameSync, writeFileSync } from 'node:fs';

const TOOLS = {
  read_file: ({ path, limit = Infinity }) => (limit < 1000 ? head(path, limit) : readFileSync(path, 'utf8')),
  write_file: ({ path, content }) => replace(path, content),
  edit_file: ({ path, old_string: from, new_string: to }) =>
    replace(
      path,
      readFileSync(path, 'utf8').replace(from, () => to),
    ),
  list_directory: ({ path }) =>
    readdirSync(path, { withFileTypes: true })
      .map((entry) => `${entry.isDirectory() ? '[DIR]' : '[FILE]'} ${entry.name}`)
      .join('\n'),
};

let rest = '';
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) answer(JSON.parse(line));
});

function answer({ id, method, params }) {
  if (id === undefined) return;
  const result = method === 'tools/call' ? call(params) : {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}

function call({ name, arguments: given }) {
  return { content: [{ type: 'text', text: TOOLS[name](given) }] };
}

/**
 * Replaces a file by a rename, so that other readers see either all the old bytes or all the new
 * ones.
 */
function replace(path, content) {
  const temporary = `${path}.new`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
  return 'wrote';
}

function head(path, lines) {
  const bytes = Buffer.allocUnsafe(64 * 1024);
  const handle = openSync(path);
  const length = readSync(handle, bytes);
  closeSync(handle);
  return bytes.toString('utf8', 0, length).split('\n').slice(0, lines).join('\n');
}
