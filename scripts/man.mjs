// Makes the manual page of the built command line from its tables of flags.

/** The text of lookfirst.1, in roff. */
export async function manualPage({ version, description }) {
  const { COMMANDS } = await import('../build/cli/command-list.js');
  const { GLOBAL_FLAGS } = await import('../build/cli/flags.js');
  const { GENERAL_NOTES, optionTerm, ownOptions, rowsOf } = await import('../build/cli/help-text.js');
  const commands = [];
  for (const { usage, load } of COMMANDS) {
    const command = await load();
    const args = rowsOf(command.args ?? {}, (key, { value }) => value ?? key.toUpperCase());
    commands.push(
      `.SS "lookfirst ${roff(usage)}"`,
      roff(command.about),
      ...[...args, ...ownOptions(command)].flatMap(listed),
      ...(command.notes === undefined ? [] : ['.PP', ...preformatted(command.notes.trim())]),
    );
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
    '.SH "GLOBAL OPTIONS"',
    '\\fB\\-\\-help\\fR of a command names those that it accepts.',
    ...rowsOf(GLOBAL_FLAGS, optionTerm).flatMap(listed),
    '.SH "ENVIRONMENT AND EXIT CODES"',
    ...preformatted(GENERAL_NOTES),
    '',
  ].join('\n');
}

function listed([term, meaning]) {
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
