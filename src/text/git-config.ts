/**
 * Git settings whose value is a program, or leads to other settings. Ordinary settings of branches
 * and remotes are not among them.
 */
const RUNS_PROGRAMS: readonly RegExp[] = [
  /^core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)$/,
  /^(alias|pager|include|includeif|browser|man|mergetool|difftool|guitool|trailer|instaweb)\./,
  /^filter\./,
  /^diff\.(external|.*\.(command|textconv))$/s,
  /^merge\..*\.driver$/s,
  /^credential\.(.*\.)?helper$/s,
  /^(gpg|gpg\..*)\.(program|defaultkeycommand)$/s,
  /^(sequence\.editor|interactive\.difffilter|uploadpack\.packobjectshook|sendemail\..*|protocol\..*)$/s,
  /^(gc\.recentobjectshook|imap\.tunnel|init\.templatedir|(hook|tar)\..*\.command)$/s,
  /^remote\..*\.(uploadpack|receivepack|vcs)$/s,
  /^submodule\..*\.update$/s,
  /^url\..*\.(insteadof|pushinsteadof)$/s,
];

/** The first setting that makes two texts of a git configuration run different programs; undefined if there is none. */
export function changedProgram(before: string, after: string): string | undefined {
  const [earlier, later] = [programs(before), programs(after)];
  return [...new Set([...earlier.keys(), ...later.keys()])].find(
    (key) => earlier.get(key) !== later.get(key),
  );
}

/** The settings of a git configuration that run programs, with all their values. */
function programs(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of settings(text))
    if (runsProgram(key)) found.set(key, `${found.get(key) ?? ''}${value}\n`);
  return found;
}

/**
 * The settings of a git configuration in git's own syntax: only a newline ends a line, a backslash
 * before it continues a value but not a comment, and headers and settings can share a line. Skips
 * the rest of a line that git would reject.
 */
function* settings(config: string): Generator<readonly [key: string, value: string]> {
  const text = config.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    at += found?.[0].length ?? 0;
    return found;
  };
  const header = /\[([\w.-]*)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
  const name = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|(?=\n)|$)/y;
  const value = /(?:"(?:[^"\\\n]|\\.)*"|\\.|[^"\\\n#;])*/sy;
  const restOfLine = /[^\n]*/y;
  for (let section = ''; at < text.length; ) {
    next(/[ \t\r\n]*/y);
    const begun = next(header);
    if (begun !== null) {
      section = sectionOf(begun);
      continue;
    }
    const set = next(name);
    if (set !== null)
      yield [`${section}.${set[1]?.toLowerCase()}`, set[2] === '=' ? (next(value)?.[0] ?? '') : ''];
    next(restOfLine);
  }
}

function sectionOf([, name = '', sub]: RegExpExecArray): string {
  return sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub.replace(/\\(.)/gs, '$1')}`;
}

/** True for a git setting whose value is a program, or leads to other settings. */
export function runsProgram(key: string): boolean {
  return RUNS_PROGRAMS.some((pattern) => pattern.test(key.toLowerCase()));
}
