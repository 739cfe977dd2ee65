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
