// Runs every benchmark in this folder and prints one table.
//   node bench/run.mjs [--strict] [--json] [NAME...]   NAME: only modules whose name contains it
//   node bench/run.mjs --against REF [gate] [cli]      compares this build with a build of REF
// A row is {name, ratio | value, bar?, …}; a bar is an upper limit (1.3 or '<= 1.3') or a lower one ('>= 3').
// A missed bar fails the run only with --strict: on a busy machine a miss means "measure again".
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

const given = process.argv.slice(2);
const at = given.indexOf('--against');
const ref = at < 0 ? undefined : given[at + 1];
if (at >= 0 && ref === undefined) throw new Error('--against needs a commit');
const rest = at < 0 ? given : given.toSpliced(at, 2);
const flags = new Set(rest.filter((argument) => argument.startsWith('--')));
const wanted = rest.filter((argument) => !argument.startsWith('--'));
const folder = new URL('./', import.meta.url);

const results = ref === undefined ? [] : await (await import('./against.mjs')).rowsAgainst(ref, wanted);
for (const file of readdirSync(folder).sort()) {
  if (ref !== undefined || !file.endsWith('.mjs') || file === 'run.mjs') continue;
  if (wanted.length > 0 && !wanted.some((name) => file.includes(name))) continue;
  const module = await import(new URL(file, folder));
  if (typeof module.rows !== 'function') continue;
  process.stderr.write(`${file} …\n`);
  for (const row of await module.rows()) results.push({ module: file.replace('.mjs', ''), ...row });
}

const output = new URL('results/', folder);
mkdirSync(output, { recursive: true });
const report = {
  at: new Date().toISOString(),
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  processors: cpus().length,
  rows: results.map((row) => ({ ...row, met: isMet(row) })),
};
writeFileSync(new URL('latest.json', output), `${JSON.stringify(report, null, 2)}\n`);
if (flags.has('--json')) process.stdout.write(`${JSON.stringify(report)}\n`);
else process.stdout.write(table(results));

const missed = results.filter((row) => isMet(row) === false);
if (flags.has('--strict') && missed.length > 0) process.exitCode = 1;

/** True if the row meets its limit (`bar`); undefined for a row without a limit. */
function isMet(row) {
  const bar = barOf(row);
  if (bar === undefined) return undefined;
  const found = row.cpu?.ratio ?? row.ratio ?? row.value;
  return bar.sign === '>=' ? found >= bar.limit : found <= bar.limit;
}

function barOf({ bar }) {
  if (bar === undefined) return undefined;
  const [, sign = '<=', limit] = /^\s*(<=|>=)?\s*([\d.]+)\s*$/.exec(String(bar)) ?? [];
  if (limit === undefined) throw new Error(`not a bar: ${bar}`);
  return { sign, limit: Number(limit) };
}

function table(rows) {
  const cells = rows.map((row) => [
    row.module,
    row.name,
    row.ratio === undefined ? String(row.value ?? '') : row.ratio.toFixed(2),
    row.bar === undefined ? '' : `${barOf(row).sign} ${barOf(row).limit}`,
    { true: 'met', false: 'MISSED' }[String(isMet(row))] ?? '',
    // Only in rows that compare our server with the official one: our processor time ÷ that of the
    // official server. It decides whether the bar is met, because other load hardly changes it.
    row.cpu === undefined ? '' : row.cpu.ratio.toFixed(2),
    // Only in rows that also measure a minimal server: the time of this server, which makes only
    // the system calls, ÷ that of the official server. It is the lower limit of the row's ratio.
    row.least === undefined ? '' : row.least.toFixed(2),
  ]);
  const lines = [['module', 'measure', 'ratio', 'bar', '', 'CPU', 'least'], ...cells];
  const widths = [0, 1, 2, 3, 4, 5, 6].map((column) => Math.max(...lines.map((line) => line[column].length)));
  const print = (line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  return `${lines.map(print).join('\n')}\n`;
}
