import { CLIENT_FILES } from '../model/path.ts';

/**
 * Files that determine which programs run: git hooks, configuration of coding agents and editors,
 * shell start-up files. A command that an agent runs must not change them, except files that the
 * policy lists as trusted.
 */
const GUARDED: readonly RegExp[] = [
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?hooks(\/(?!.*\.sample$)|$)/i,
  /(^|\/)\.git\/(modules\/((?!refs\/|logs\/).)+\/)?info\/attributes$/i,
  /(^|\/)\.(claude|codex|gemini|cursor|vscode|opencode)(\/|$)/i,
  /(^|\/)(\.mcp\.json|opencode\.jsonc?)$/i,
  /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|envrc|pam_environment)$/i,
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
  /^(alias|pager|include|includeif|browser|man|mergetool|difftool|guitool|trailer)\./,
  /^filter\./,
  /^diff\.(external|.*\.(command|textconv))$/,
  /^merge\..*\.driver$/,
  /^credential\.(.*\.)?helper$/,
  /^(gpg|gpg\..*)\.program$/,
  /^(sequence\.editor|interactive\.difffilter|uploadpack\.packobjectshook|sendemail\..*|protocol\..*)$/,
  /^remote\..*\.(uploadpack|receivepack|vcs)$/,
  /^submodule\..*\.update$/,
  /^url\..*\.(insteadof|pushinsteadof)$/,
];

/**
 * Files that an agent's file tools may not change. The list is shorter than `GUARDED`, which
 * applies to commands: agents edit other editor settings every day.
 */
const GUARDED_FROM_TOOLS =
  /(^|\/)(\.mcp\.json|\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|pam_environment))$/i;

/**
 * Says when a file is guarded against changes by tools: `always`, or only while it holds
 * Lookfirst's own entries (`own-entries`). Undefined if tools may change it.
 */
export function toolGuard(relative: string): 'always' | 'own-entries' | undefined {
  if (GUARDED_FROM_TOOLS.test(relative)) return 'always';
  return CLIENT_FILES.test(relative) ? 'own-entries' : undefined;
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

/** True for a file that names another folder of git. Judge its text with `leadsOutOfGit`. */
export function isGitPointer(relative: string): boolean {
  return GIT_POINTER.test(relative);
}

/** True if git would read its configuration from a folder that `isGitConfig` does not cover. */
export function leadsOutOfGit(relative: string, text: string): boolean {
  const target = text.replace(/^gitdir:/, '').trim();
  const from = target.startsWith('/') ? '' : relative.replace(/[^/]*$/, '');
  const parts: string[] = [];
  for (const part of `${from}${target}`.split('/'))
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  return !isGitConfig([...parts, 'config'].join('/'));
}

/** True for a file that determines which programs run. `relative` is a path inside a workspace root. */
export function isGuarded(relative: string): boolean {
  return GUARDED.some((pattern) => pattern.test(relative));
}

/** The first setting that makes two texts of a git configuration run different programs; undefined if there is none. */
export function changedProgram(before: string, after: string): string | undefined {
  const [earlier, later] = [programs(before), programs(after)];
  return [...new Set([...earlier.keys(), ...later.keys()])].find(
    (key) => earlier.get(key) !== later.get(key),
  );
}

/**
 * The settings of a git configuration that run programs, with all their values. Git joins a line
 * that ends in a backslash with the next one, except in comments. So the text is read twice, with
 * and without joined lines: each reading may hide settings that the other shows.
 */
function programs(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const lines of [text.replace(/\\\r?\n/g, ''), text]) addPrograms(lines, found);
  return found;
}

function addPrograms(text: string, found: Map<string, string>): void {
  let section = '';
  for (const line of text.split(/\r?\n/)) {
    let rest = line;
    // Git also accepts several headers on one line.
    for (let header = HEADER.exec(rest); header !== null; header = HEADER.exec(rest)) {
      section = sectionOf(header);
      rest = header[3] ?? '';
    }
    const setting = /^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(rest);
    const key = `${section}.${(setting?.[1] ?? '').toLowerCase()}`;
    if (setting === null || !runsProgram(key)) continue;
    found.set(key, `${found.get(key) ?? ''}${setting[2] ?? ''}\n`);
  }
}

const HEADER = /^\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\](.*)$/;

function sectionOf([, name = '', sub]: RegExpExecArray): string {
  return sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub}`;
}

function runsProgram(key: string): boolean {
  return RUNS_PROGRAMS.some((pattern) => pattern.test(key.toLowerCase()));
}
