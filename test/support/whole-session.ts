import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { treeOf } from './tree-of.ts';

const FILES = {
  '.gitattributes': '* text=auto\n',
  '.gitignore': '.claude/worktrees/\n*.cfg\n',
  '.vscode/settings.json': '{\r\n  "editor.tabSize": 2\r\n}\r\n',
  'lf.txt': 'one\ntwo\nthree\n',
  'crlf.txt': 'one\r\ntwo\r\nthree\r\n',
  'mixed.txt': 'one\r\ntwo\nthree',
  'marked.txt': '\ufeffone\r\ntwo\r\n',
  'logo.bin': '\0\u0001\r\n\n\0two\r\n',
  'src/deep/a.txt': 'deep\n',
  'src/deep/b.txt': 'b\r\n',
  'src/run.sh': '#!/bin/sh\necho run\n',
  'docs/guide.md': '# Guide\r\n\r\ntext\r\n',
} as const;

/** What the other branch has instead of these files. */
const OTHER = {
  '.gitattributes': '*.txt -text\n',
  '.vscode/settings.json': '{\n  "editor.tabSize": 4\n}\n',
  'crlf.txt': 'other\n',
  'docs/guide.md': '# Other\n',
  'only-there.txt': 'other\r\n',
} as const;

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });

function put(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text, 'latin1');
    // With old times, git trusts its own stat fields.
    utimesSync(join(root, name), 1e9, 1e9);
  }
}

/**
 * A repository in which git converts line endings, with a second branch, a worktree where Claude
 * Code puts its own, and work of the user that is not committed.
 */
export function mixedRepository(root: string): void {
  git(root, 'init', '-q');
  git(root, 'symbolic-ref', 'HEAD', 'refs/heads/main');
  git(root, 'config', 'user.name', 'a');
  git(root, 'config', 'user.email', 'a@b');
  put(root, FILES);
  chmodSync(join(root, 'src/run.sh'), 0o755);
  symlinkSync('lf.txt', join(root, 'link'));
  git(root, 'add', '-A');
  git(root, 'commit', '-qm', 'first');
  git(root, 'checkout', '-qb', 'other');
  put(root, OTHER);
  git(root, 'add', '-A');
  git(root, 'commit', '-qm', 'other');
  git(root, 'checkout', '-q', 'main');
  put(root, FILES);
  git(root, 'add', '-A');
  git(root, 'worktree', 'add', '-q', '-b', 'side', '.claude/worktrees/side');
  put(root, {
    'docs/guide.md': '# Guide\r\n\r\nchanged by the user\r\n',
    'local.cfg': 'ignored\r\n',
    'new.txt': 'new\r\n',
  });
}

/**
 * The files, without what git keeps for itself. Without a layer, new folders are not recorded, so
 * they stay behind, empty. opencode adds a schema to its own settings file when it starts.
 */
export function bytesIn(root: string, way: Way): Readonly<Record<string, string>> {
  const isWanted = ([path, what]: readonly [string, string]): boolean =>
    !/^(\.git|opencode\.json)(\/|$)/.test(path) && (way === 'on layers' || !what.startsWith('folder'));
  return Object.fromEntries(Object.entries(treeOf(root)).filter(isWanted));
}

/** How the shell lines of a session run. */
export type Way = 'without a layer' | 'on layers';

/** Branches, stashes and the present branch. On a layer, git's own files are a part of the change. */
export function refsOf(root: string): string {
  return git(root, 'for-each-ref') + git(root, 'symbolic-ref', 'HEAD');
}

/** The files that the session reads before it edits them. */
export const READ_FIRST: readonly string[] = [
  'lf.txt',
  'crlf.txt',
  'mixed.txt',
  '.vscode/settings.json',
  'src/deep/a.txt',
];

/** The session's edits with the client's own tool: file, old text, new text. */
export const EDITS: readonly (readonly [string, string, string])[] = [
  ['lf.txt', 'two', 'TWO'],
  ['src/deep/a.txt', 'deep', 'deeper'],
];

/**
 * The shell lines of the session: some show what they do, some run a script, which the hooks do not
 * read. The scripts are put into a folder outside the workspace.
 */
export function shellLines(outside: string): readonly string[] {
  const script = (text: string, index: number): string => {
    const file = join(outside, `script-${index}`);
    writeFileSync(file, `set -e\n${text}\n`);
    return `sh ${file}`;
  };
  return LINES.map((line, index) => (typeof line === 'string' ? line : script(line.script, index)));
}

const LINES: readonly (string | { readonly script: string })[] = [
  'sed -i s/one/ONE/ crlf.txt mixed.txt',
  'sed -i s/2/8/ .vscode/settings.json',
  { script: 'for f in *.txt logo.bin src/deep/*; do echo x >> $f; done' },
  { script: 'mkdir -p gen && printf "a\\r\\n" > gen/a.txt && chmod 644 src/run.sh && ln -sf crlf.txt link' },
  'git add -A && git commit -qm work',
  'git checkout -q other',
  { script: 'echo y >> only-there.txt; rm -r docs' },
  'git checkout -q -f main',
  'git merge -q -X theirs -m merged other',
  { script: 'mv src source; rm crlf.txt; printf "now a file" > gen.txt; rm -r gen' },
  'git stash -q -u',
  { script: 'cd .claude/worktrees/side && echo z >> crlf.txt && rm lf.txt && git commit -qam side' },
  'git stash pop -q',
  { script: 'rm -r .vscode docs; echo w > new.txt; echo v >> local.cfg' },
];
