// Collects hunks of this project's own history into hunks.json: small files, one hunk each, no two from one file.
//   node test/matching/collect.mjs [COUNT]
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const COUNT = Number(process.argv[2] ?? 120);
const MAX_CHARS = 5000;
const CONTEXT = 3;
/** Lines of the file that are kept on each side of a hunk. */
const AROUND = 25;
const git = (...args) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 });

const hunks = [];
const seen = new Set();
for (const commit of git('log', '--no-merges', '--format=%H').trim().split('\n')) {
  if (hunks.length >= COUNT) break;
  const files = git('show', '--format=', '--name-only', '--diff-filter=M', commit).trim().split('\n');
  for (const path of files) {
    if (!/\.(ts|mjs|md|json|py)$/.test(path) || path.includes('package-lock') || seen.has(path)) continue;
    const hunk = hunkOf(commit, path);
    if (hunk === undefined || hunk.before.split(hunk.oldString).length !== 2) continue;
    seen.add(path);
    hunks.push(hunk);
  }
}
const list = hunks.slice(0, COUNT);
writeFileSync(new URL('hunks.json', import.meta.url), `${JSON.stringify(list, null, 1)}\n`);
process.stdout.write(`${list.length} hunks\n`);

/**
 * The change of a file between a commit and its parent as one hunk, with three unchanged lines on
 * each side. Undefined if the change is not suitable, for example if the hunk is too large or its
 * old text is not unique.
 */
function hunkOf(commit, path) {
  let before;
  try {
    before = git('show', `${commit}^:${path}`);
  } catch {
    return undefined;
  }
  const after = git('show', `${commit}:${path}`);
  if (before.length > MAX_CHARS || after.length > MAX_CHARS || /[\ufffd\r]/.test(before + after))
    return undefined;
  const was = before.split('\n');
  const is = after.split('\n');
  let head = 0;
  while (head < Math.min(was.length, is.length) && was[head] === is[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(was.length, is.length) - head && was.at(-1 - tail) === is.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - CONTEXT);
  const to = (lines) => Math.min(lines.length - 1, lines.length - tail + CONTEXT);
  const oldLines = was.slice(from, to(was));
  const newLines = is.slice(from, to(is));
  if (oldLines.length < 3 || oldLines.length > 16 || newLines.length > 30) return undefined;
  const oldString = oldLines.join('\n');
  const newString = newLines.join('\n');
  if (before.split(oldString).length !== 2 || before.replace(oldString, () => newString) !== after)
    return undefined;
  const start = Math.max(0, from - AROUND);
  const excerpt = [...was.slice(start, to(was) + AROUND)].join('\n');
  return { path, before: excerpt.endsWith('\n') ? excerpt : `${excerpt}\n`, oldString, newString };
}
