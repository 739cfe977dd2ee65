/**
 * Shell start-up files. The settings of clients are judged by their content: see
 * `dialect/clients/settings-files.ts`.
 */
const START_UP_FILE =
  /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|pam_environment)$/i;

/** Files that a command may not change either. Tools cannot reach `.git`, and direnv asks before it runs `.envrc`. */
const GUARDED_FROM_COMMANDS: readonly RegExp[] = [
  START_UP_FILE,
  /(^|\/)\.envrc$/i,
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?hooks(\/(?!.*\.sample$)|$)/i,
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?info\/attributes$/i,
];

/** The configuration of a repository, of a submodule or of a worktree. */
const GIT_CONFIG =
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?(worktrees\/[^/]+\/)?config(\.worktree)?$/i;

/**
 * Places where a link could lead git to other configuration: `.git` itself, and everything in it
 * except branches, logs and objects.
 */
const GIT_LINK = /(^|\/)\.git(\/(?!HEAD$|(refs|logs|objects|annex)(\/|$)).*)?$/i;

/** Files that name the folder with the configuration: `.git` of a worktree or submodule, and `commondir`. */
const GIT_POINTER = /(^|\/)\.git(\/(.+\/)?commondir)?$/i;

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

/** True for a file that a shell runs when it starts. */
export function isStartUpFile(relative: string): boolean {
  return START_UP_FILE.test(relative);
}

/**
 * True for a git configuration file. Only some of its settings are guarded: compare the text before
 * and after a change with `changedProgram`.
 */
export function isGitConfig(relative: string): boolean {
  return GIT_CONFIG.test(relative);
}

/** True if a link at this path can give a repository other configuration. */
export function isGitLink(relative: string): boolean {
  return GIT_LINK.test(relative);
}

/**
 * True for a file whose text is the path of a folder of git, such as `.git` in a worktree. Judge the
 * text with `leadsOutOfGit`.
 */
export function isGitPointer(relative: string): boolean {
  return GIT_POINTER.test(relative);
}

/**
 * True if git would read its configuration from a folder that `isGitConfig` does not cover. Like
 * git, cuts the path at a NUL and removes line ends from its end, but no spaces: they belong to the
 * path.
 */
export function leadsOutOfGit(relative: string, text: string): boolean {
  const [path = ''] = text.replace(/^gitdir: ?/, '').split('\0');
  const target = path.replace(/[\r\n]+$/, '');
  const from = target.startsWith('/') ? '' : relative.replace(/[^/]*$/, '');
  const parts: string[] = [];
  for (const part of `${from}${target}`.split('/'))
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  return !isGitConfig([...parts, 'config'].join('/'));
}

/** True for a file whose every change decides which programs run. `relative` is a path inside a root. */
export function isGuarded(relative: string): boolean {
  return GUARDED_FROM_COMMANDS.some((pattern) => pattern.test(relative));
}

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

function runsProgram(key: string): boolean {
  return RUNS_PROGRAMS.some((pattern) => pattern.test(key.toLowerCase()));
}
