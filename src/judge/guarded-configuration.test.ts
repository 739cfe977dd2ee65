import { describe, expect, it } from 'vitest';
import { changedProgram } from '../text/git-config.ts';
import { isGitConfig, isGitLink, isGitPointer, isGuarded, leadsOutOfGit } from './guarded-configuration.ts';

describe('configuration that decides which programs run', () => {
  it.each([
    '.git/hooks/pre-commit',
    '.git/hooks',
    'sub/.git/hooks/post-checkout',
    '.git/modules/lib/hooks/pre-push',
    '.git/info/attributes',
    '.bashrc',
    '.git/modules/a/b/info/attributes',
  ])('is guarded: %s', (path) => expect(isGuarded(path)).toBe(true));

  it.each([
    '.git/hooks/pre-commit.sample',
    '.git/refs/heads/hooks/x',
    '.git/logs/refs/heads/hooks/x',
    '.git/modules/lib/refs/heads/hooks/x',
    '.git/index',
    'src/claude/settings.json',
    '.claude/worktrees/feature/src/a.ts',
    'src/hooks/use-state.ts',
    'mcp.json',
  ])('is not guarded: %s', (path) => expect(isGuarded(path)).toBe(false));

  it('is partly guarded in a git configuration file', () => {
    for (const path of [
      '.git/config',
      '.git/modules/a/config',
      '.git/worktrees/w/config.worktree',
      'a/.git/config',
    ])
      expect(isGitConfig(path)).toBe(true);
    for (const path of ['config', '.git/refs/heads/config', 'src/.gitconfig'])
      expect(isGitConfig(path)).toBe(false);
  });
});

describe('git finds its configuration by way of', () => {
  it.each(['.git', 'a/.git', '.git/config', '.git/modules/a', '.git/worktrees'])('a link at %s', (path) =>
    expect(isGitLink(path)).toBe(true),
  );

  it.each(['.git/HEAD', '.git/refs/heads/a', '.git/annex/x', '.gitignore', 'a.git'])(
    'no link at %s',
    (path) => expect(isGitLink(path)).toBe(false),
  );

  it.each([
    ['.git', 'gitdir: other\n', true],
    ['a/.git', 'gitdir: ../.git/../other', true],
    ['a/.git', 'gitdir: ../b/.git/other', true],
    ['a/.git', 'gitdir: ../.git/modules/a\n', false],
    ['a/.git', 'gitdir: /w/.git/worktrees/a\n', false],
    ['.git/commondir', '../other\n', true],
    ['.git/worktrees/a/commondir', '../..\n', false],
    ['a/.git', 'gitdir: ../b/.git ', true],
    ['a/.git', 'gitdir: ../b/.git\u00a0\n', true],
    ['a/.git', 'gitdir: ../other\0/.git\n', true],
    ['a/.git', 'gitdir: ../b/.git\r\n', false],
  ])('the text of %s: %j', (path, text, leadsOut) => {
    expect([isGitPointer(path), leadsOutOfGit(path, text)]).toEqual([true, leadsOut]);
  });
});

describe('two texts of a git configuration', () => {
  const BASE = '[core]\n\tbare = false\n[remote "origin"]\n\turl = a\n';
  it.each([
    ['[core]\n\thooksPath = /tmp/h\n', 'core.hookspath'],
    ['[CORE]\n\tFSMonitor = "x"\n', 'core.fsmonitor'],
    ['[alias]\n\tst = !sh -c evil\n', 'alias.st'],
    ['[include]\n\tpath = ../evil\n', 'include.path'],
    ['[includeIf "gitdir:/a"]\n\tpath = ../evil\n', 'includeif.gitdir:/a.path'],
    ['[filter "lfs"]\n\tclean = x\n', 'filter.lfs.clean'],
    ['[credential "https://a"]\n\thelper = !x\n', 'credential.https://a.helper'],
    ['[core] sshCommand = x\n', 'core.sshcommand'],
    ['[core]\n\tsshCommand = \\\nx\n', 'core.sshcommand'],
    ['[user][core]\n\tfsmonitor = x\n', 'core.fsmonitor'],
    ['# comment \\\n[core]\n\tfsmonitor = x\n', 'core.fsmonitor'],
    ['[user]\n\tname = x # comment \\\n[core]\n\tfsmonitor = x\n', 'core.fsmonitor'],
    ['[user]\n# comment \\\n[core]\n\ty = a \\\n[user]\n\tfsmonitor = x\n', 'core.fsmonitor'],
    ['[user]\n\ty = "# \\\n[core]"\n[core]\n\tfsmonitor = x\n', 'core.fsmonitor'],
    ['[core]\n\thooksPath = /tmp/h # \u2028\n', 'core.hookspath'],
    ['[core] hooksPath = /tmp/\u2029h\n', 'core.hookspath'],
    ['[core]\n\thooksPath = /tmp/h # a\rb\n', 'core.hookspath'],
    ['[core]\r\n\thooksPath\r\n', 'core.hookspath'],
    ['[core]\n\thooksPath', 'core.hookspath'],
    ['[diff "a\u2028b"]\n\ttextconv = x\n', 'diff.a\u2028b.textconv'],
    ['[gpg "ssh"]\n\tdefaultKeyCommand = x\n', 'gpg.ssh.defaultkeycommand'],
    ['[gc]\n\trecentObjectsHook = x\n', 'gc.recentobjectshook'],
    ['[tar "tgz"]\n\tcommand = x\n', 'tar.tgz.command'],
    ['[hook "a"]\n\tcommand = x\n', 'hook.a.command'],
  ])('run other programs: %j', (added, key) => {
    expect(changedProgram(BASE, `${BASE}${added}`)).toBe(key);
    expect(changedProgram(`${BASE}${added}`, BASE)).toBe(key);
    expect(changedProgram(`${BASE}${added}`, `${BASE}${added}`)).toBeUndefined();
  });

  it.each([
    '[branch "a"]\n\tremote = origin\n\tmerge = refs/heads/a\n',
    '[remote "b"]\n\turl = c\n\tfetch = +refs\n',
    '[user]\n\tname = x\n',
    '# hooksPath = x\n',
    '[core] ; hooksPath = x\n',
    '[user]\n\tname = "\\\n[core]\\\nhooksPath = x"\n',
  ])('run the same programs: %j', (added) => {
    expect(changedProgram(BASE, `${BASE}${added}`)).toBeUndefined();
  });
});
