import { describe, expect, it } from 'vitest';
import type { Harm } from '../../../model/session.ts';
import { shellLine } from './shell-line.ts';

const LINES: readonly (readonly [Harm, string])[] = [
  ['nothing', 'ls -la | grep -c a.txt; cat a.txt'],
  ['nothing', 'git status'],
  ['nothing', 'cd src && git --no-pager diff --stat HEAD~1 2>&1 | head -5'],
  ['nothing', 'git -C sub log --oneline -3'],
  ['nothing', 'git branch -a; git remote -v; git stash list'],
  ['nothing', 'find . -name "*.ts" > /dev/null 2>&1'],
  ['nothing', "sed -n '1,20p' src/view.ts"],
  ['files', 'sed -n p a.txt -i'],
  ['nothing', 'for f in *; do echo "$f"; done'],
  ['nothing', 'if test -f a; then cat a; fi'],
  ['files', 'ls > list.txt'],
  ['files', 'echo $(rm a.txt)'],
  ['files', 'ls "$(git clean -fd)"'],
  ['files', 'find . -name x -delete'],
  ['files', 'find . -exec rm {} +'],
  ['files', "sed -i s/a/b/ f; sed 'w out' f"],
  ['files', 'git diff --output=a.txt'],
  ['files', 'git branch feature'],
  ['files', 'git stash'],
  ['files', 'git stash drop'],
  ['files', 'git "$verb"'],
  ['files', 'git reset --hard'],
  ['files', '$PROGRAM x'],
  ['files', 'python3 x.py'],
  ['files', 'sort -o a.txt a.txt'],
  ['files', 'cat a >& b'],
  ['files', 'eval "rm a"'],
  ['files', 'sh -c "git reset --hard"'],
  ['files', 'if ( then'],
  ['git', 'git gc --prune=now'],
  ['git', 'git reflog expire --all --expire=now'],
  ['git', 'rm -rf .git'],
  ['git', 'rm -rf ./.git/refs'],
];

describe('harm', () => {
  it.each(LINES)('%s: %s', (harm, line) => {
    expect(shellLine(line).harm()).toBe(harm);
  });
});
