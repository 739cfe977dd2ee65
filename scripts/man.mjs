// Makes the manual page of the built command line from its help texts.
import { PassThrough } from 'node:stream';

/** The text of lookfirst.1, in roff. */
export async function manualPage({ version, description }) {
  const { COMMANDS } = await import('../build/cli/command-list.js');
  const { runCli } = await import('../build/cli/run-cli.js');
  const general = sectionsOf(await helpText(runCli, []));
  const commands = [];
  const shared = new Map();
  for (const { name, usage } of COMMANDS) {
    const sections = sectionsOf(await helpText(runCli, [name]));
    commands.push(...commandSection(usage, sections));
    for (const row of sections.lists.join('\n').split('\n').filter(isShared))
      shared.set(row.trim().split(' ')[0], row);
  }
  return [
    `.TH LOOKFIRST 1 "" "lookfirst ${version}" "User Commands"`,
    '.SH NAME',
    `lookfirst \\- ${roff(description.split(':')[0].replace(/^T/, 't'))}`,
    '.SH SYNOPSIS',
    '.B lookfirst',
    '.I COMMAND',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    roff(description),
    '.SH COMMANDS',
    ...commands,
    '.SH "COMMON OPTIONS"',
    'Most commands also have the following options. \\fB\\-\\-help\\fR of a command lists its own.',
    ...[...shared.values()].flatMap(listed),
    '.SH "ENVIRONMENT AND EXIT CODES"',
    ...preformatted(general.after),
    '',
  ].join('\n');
}

async function helpText(runCli, words) {
  // Use very wide columns, so that lines are not wrapped here: man wraps them.
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 10_000, rows: 10_000 });
  const streams = { stdin: new PassThrough(), stdout, stderr: process.stderr };
  const env = { LOOKFIRST_PAGER: '', NO_COLOR: '1' };
  await runCli({ args: [...words, '--help'], streams, env, cwd: '/', platform: process.platform, self: [] });
  return String(stdout.read() ?? '');
}

/**
 * The parts of one help text: the description, the lists (of arguments, options and commands), and
 * the text after these lists.
 */
function sectionsOf(text) {
  const [, description = '', ...rest] = text.trim().split('\n\n');
  const lists = [];
  while (/^(Arguments|Options|Commands):\n/.test(rest[0] ?? '')) lists.push(rest.shift());
  return { description, lists, after: rest.join('\n\n') };
}

function commandSection(usage, { description, lists, after }) {
  // Options that every command has are described once, below the commands.
  const rows = lists.flatMap((list) => list.split('\n').slice(1)).filter((row) => !isShared(row));
  return [
    `.SS "lookfirst ${roff(usage)}"`,
    roff(description),
    ...rows.flatMap(listed),
    ...(after === '' ? [] : ['.PP', ...preformatted(after)]),
  ];
}

const SHARED = /^ {2}(?:--json|--color|--date|--store|--policy|-h, --help) /;

function isShared(row) {
  return SHARED.test(row);
}

function listed(row) {
  const [, term, meaning] = /^ {2}(\S.*?) {2,}(\S.*)$/.exec(row);
  return ['.TP', `.B ${roff(term)}`, roff(meaning)];
}

function preformatted(text) {
  return ['.nf', ...text.split('\n').map(roff), '.fi'];
}

/**
 * Escapes characters with a meaning in roff: backslashes, hyphens that must stay hyphens, a dot or quote at the start
 * of a line.
 */
function roff(text) {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(
      /[^\0-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/^([.'])/gm, '\\&$1');
}
