// Measures finding and searching against plain ripgrep, on a tree of 100,000 files.
//   node bench/search.mjs [FILES] [ROUNDS]
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rgPath } from '@vscode/ripgrep';
import { interleaved } from './measure.mjs';

const BUILD = process.env['LOOKFIRST_BUILD'] ?? new URL('../build/', import.meta.url).href;
const WORDS = 'const let function return import export from value index count name path file text line'.split(
  ' ',
);

export async function rows({ files = 100_000, rounds = 7 } = {}) {
  const [{ Workspace }, { findFiles }, { searchText }, { DEFAULT_PROTECTED }] = await Promise.all(
    ['workspace/workspace.js', 'session/find.js', 'session/search.js', 'config/protected.js'].map(
      (file) => import(new URL(file, BUILD)),
    ),
  );
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  const workspace = Workspace.open([root], { protect: DEFAULT_PROTECTED });
  const bare = (...args) => ripgrep(root, args);
  const find = (pattern) => () => findFiles({ workspace }, pattern);
  const search = (pattern, options) => () => searchText({ workspace }, pattern, options);
  const size = files.toLocaleString('en');
  const measures = [
    [`find 1 % of ${size} files by name`, find('*17.ts'), bare('--files', '-g', '*17.ts'), 1.5],
    [`find 1 file of ${size}`, find('file-12345.ts'), bare('--files', '-g', 'file-12345.ts'), 1.5],
    // This row has no limit to pass: sorting by time needs a stat of every match, which ripgrep alone does not
    // make.
    [`find a quarter of ${size} files, newest first`, find('*.ts'), bare('--files', '-g', '*.ts')],
    [`search ${size} files, few hits`, search('needle'), bare('needle'), 1.2],
    [`search ${size} files, no hit`, search('absent'), bare('absent'), 1.2],
    [`count in ${size} files, few hits`, search('needle', { mode: 'count' }), bare('-c', 'needle'), 1.2],
    [`search ${size} files, hits in all`, search('const'), bare('const'), 1.2],
  ];
  try {
    makeFiles(root, files);
    const results = [];
    for (const [name, ours, theirs, bar] of measures) {
      const outcome = await ours();
      if (!outcome.ok) throw new Error(`${name}: ${outcome.refusal.code}`);
      const found = (outcome.paths ?? outcome.hits).length;
      const isNone = name.includes('no hit');
      if ((found === 0) !== isNone)
        throw new Error(`${name}: expected ${isNone ? 'no result' : 'results'}, found ${found}`);
      const [own, other] = await interleaved([ours, theirs], { rounds, warmup: 1 });
      results.push({ name, ratio: own / other, ...(bar === undefined ? {} : { bar }) });
    }
    return results;
  } finally {
    workspace.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * Creates 2,000 folders of small text files. One file in 5,000 contains the word that is searched
 * for.
 */
function makeFiles(root, files) {
  for (let folder = 0; folder < 2000; folder += 1)
    mkdirSync(join(root, `p${folder % 40}`, `d${Math.floor(folder / 40)}`), { recursive: true });
  for (let file = 0; file < files; file += 1) {
    const lines = Array.from({ length: 20 + (file % 60) }, (_, line) => words(file + line));
    if (file % 5000 === 11) lines.push('a needle in the hay');
    const name = `file-${file}.${file % 100 === 17 ? 'ts' : ['js', 'ts', 'md', 'json'][file % 4]}`;
    writeFileSync(
      join(root, `p${file % 40}`, `d${Math.floor(file / 40) % 50}`, name),
      `${lines.join('\n')}\n`,
    );
  }
}

function words(seed) {
  return Array.from({ length: 8 }, (_, index) => WORDS[(seed * 7 + index * index) % WORDS.length]).join(' ');
}

/** Returns a function that runs ripgrep with its defaults, and reads and discards its output. */
function ripgrep(cwd, args) {
  return () =>
    new Promise((resolve, reject) => {
      const child = spawn(rgPath, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
      child.stdout.resume();
      child.once('error', reject);
      child.once('close', resolve);
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [files, rounds] = process.argv.slice(2).map(Number);
  for (const { name, ratio, bar } of await rows({ files, rounds }))
    process.stdout.write(`${name}: ${ratio.toFixed(2)}${bar === undefined ? '' : ` (bar ${bar})`}\n`);
}
