// Measures the cost of masking, and counts what it masks in sources without secrets.
//   node bench/secrets.mjs [FOLDER...]   prints every span that would be masked in these folders' text files
import { isUtf8 } from 'node:buffer';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mayHoldSecret } from '../build/text/secret-scan.js';
import { isSecretPath, secretSpans } from '../build/text/secrets.js';
import { interleaved } from './measure.mjs';
import { RawClient } from './raw-client.mjs';

const PROJECT = fileURLToPath(new URL('../', import.meta.url));
const SERVER = fileURLToPath(new URL('../dist/bin/lookfirst.js', import.meta.url));
/** Sources of a few hundred packages and programs, if this machine has them. */
const CORPUS = [
  join(PROJECT, 'node_modules'),
  join(PROJECT, 'src'),
  '/usr/lib/python3',
  '/usr/share/perl',
  '/usr/share/doc',
  '/usr/include',
  '/etc',
];
const MAX_FILE_BYTES = 4 << 20;
const MB = 1 << 20;

export async function rows() {
  const { files, bytes, found } = falseMasks(CORPUS);
  const name = `secrets: masks per 1,000 source files (${found.length} in ${files}, ${Math.round(bytes / MB)} MB)`;
  // The limit is above zero, because some sources contain published keys and example tokens, which
  // masking may hide.
  return [
    { name, value: Number(((1000 * found.length) / files).toFixed(2)), bar: '<= 0.5' },
    ...(await readRows()),
  ];
}

/**
 * Finds the parts of the text files in these folders that masking would hide. Leaves out the tests
 * of masking itself, and files that are secret by their name.
 */
function falseMasks(folders) {
  const found = [];
  let [files, bytes] = [0, 0];
  for (const path of folders.flatMap((folder) => [...textFiles(folder)])) {
    const content = readFileSync(path);
    if (!isUtf8(content) || content.includes(0)) continue;
    files += 1;
    bytes += content.byteLength;
    if (!mayHoldSecret(content)) continue;
    const text = content.toString('utf8');
    for (const { start, end } of secretSpans(text, { secretFile: false }))
      found.push({ path, text: text.slice(Math.max(0, start - 20), end).slice(0, 120) });
  }
  return { files, bytes, found };
}

function* textFiles(folder) {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* textFiles(path);
    else if (entry.isFile() && !isSecretPath(path) && !/secrets\.test|\/etc\/ss[hl]/.test(path))
      if (statSync(path).size <= MAX_FILE_BYTES) yield path;
  }
}

/**
 * Compares a read of 1 MB through the server with and without masking: the first read of some
 * bytes, and a later read of the same bytes.
 */
async function readRows() {
  const base = mkdtempSync(join(tmpdir(), 'lookfirst-bench-'));
  const root = join(base, 'root');
  mkdirSync(root);
  const source = sourceText();
  const clients = [];
  try {
    for (const secrets of ['mask', 'show']) clients.push(await started(base, root, secrets));
    writeFileSync(join(root, 'same.ts'), source);
    let turn = 0;
    const fresh = () => {
      turn += 1;
      writeFileSync(join(root, 'fresh.ts'), `${String(turn).padStart(9)}\n${source}`);
    };
    const ratio = async (path, before) => {
      const read = (client) => () => client.text(['read_file', { path, limit: MB }]);
      const [masked, shown] = await interleaved(clients.map(read), { rounds: 60, warmup: 20, before });
      return masked / shown;
    };
    return [
      {
        name: 'secrets: first read of 1 MB, masking / not masking',
        ratio: await ratio('fresh.ts', fresh),
        bar: 1.1,
      },
      {
        name: 'secrets: later reads of 1 MB, masking / not masking',
        ratio: await ratio('same.ts'),
        bar: 1.1,
      },
    ];
  } finally {
    for (const client of clients) await client.close();
    rmSync(base, { recursive: true, force: true });
  }
}

async function started(base, root, secrets) {
  const home = join(base, secrets);
  mkdirSync(home);
  const policy = join(base, `${secrets}.json`);
  writeFileSync(policy, JSON.stringify({ secrets, durability: 'none' }));
  const args = [SERVER, 'serve', '--policy', policy, root];
  const client = new RawClient([process.execPath, ...args], { LOOKFIRST_HOME: home });
  await client.open();
  return client;
}

/** 1 MB of this project's own sources. */
function sourceText() {
  let text = '';
  for (const path of textFiles(join(PROJECT, 'src'))) {
    if (path.endsWith('.ts') && !path.includes('secrets')) text += readFileSync(path, 'utf8');
    if (text.length > MB) return text.slice(0, MB);
  }
  return text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folders = process.argv.slice(2);
  const { files, bytes, found } = falseMasks(folders.length === 0 ? CORPUS : folders);
  for (const { path, text } of found) process.stdout.write(`${path}\n  ${JSON.stringify(text)}\n`);
  process.stdout.write(`${found.length} masks in ${files} files, ${Math.round(bytes / MB)} MB\n`);
}
