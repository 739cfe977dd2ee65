import { describe, expect, it } from 'vitest';
import { globReach, Protection } from './roots.ts';

const GLOBS = ['**/.git', '**/.git/**', '**/*.pem', 'private', 'conf/*.json', 'keys/**', '**/[!a]*.crt'];

const ALL = Number.POSITIVE_INFINITY;

describe('Protection', () => {
  const protection = new Protection(GLOBS, ['/state']);

  it.each<[string, string | undefined]>([
    ['.git', '**/.git'],
    ['.git/config', '**/.git'],
    ['sub/.git/hooks/pre-commit', '**/.git'],
    ['.GIT/config', '**/.git'],
    ['key.pem', '**/*.pem'],
    ['a/b/KEY.PEM', '**/*.pem'],
    ['.hidden/.key.pem', '**/*.pem'],
    ['private', 'private'],
    ['private/deep/down', 'private'],
    ['PRIVATE/x', 'private'],
    ['conf/a.json', 'conf/*.json'],
    ['new\nline/.git/config', '**/.git'],
    ['keys/new\nline', 'keys/**'],
    ['b.crt', '**/[!a]*.crt'],
    ['a.crt', undefined],
    ['', undefined],
    ['.gitignore', undefined],
    ['git/config', undefined],
    ['a/private', undefined],
    ['privately', undefined],
    ['conf/sub/a.json', undefined],
    ['pem', undefined],
  ])('of %j: %j', (relative, glob) => {
    expect(protection.protects(relative, `/w/${relative}`)).toBe(glob);
  });

  it.each<[string, string | undefined]>([
    ['/state', '/state'],
    ['/state/store.db', '/state'],
    ['/state-of-mind', undefined],
    ['/stat', undefined],
  ])('covers a folder and its contents: %j', (key, folder) => {
    expect(protection.protects('x', key)).toBe(folder);
  });
});

describe('globReach', () => {
  it.each<[string, string, number]>([
    ['**/.git', 'src', 0],
    ['**/.git/**', 'src', 0],
    ['**/*.pem', 'a/b', 0],
    ['**/.config/gcloud/**', 'src', 1],
    ['**/.kube/config', 'src', 1],
    ['**/a/b/c', 'src', 2],
    ['**/a/**/c', 'src', ALL],
    ['**', 'src', 0],
    ['conf/secrets/**', 'conf', ALL],
    ['conf/secrets/**', 'Conf', ALL],
    ['conf/secrets/**', 'conf/secrets/deep', ALL],
    ['conf/secrets/**', 'src', 0],
    ['conf/secrets/**', 'conf/other', 0],
    ['conf/*/keys', 'conf/any', ALL],
    ['conf/secrets/', 'conf', ALL],
    ['/conf/secrets', 'conf', ALL],
    ['*.key', 'src', 0],
    ['*/x', 'src', ALL],
    ['{a,b}/x', 'src', ALL],
    ['!a/**', 'src', ALL],
  ])('%s at %s: %s', (glob, folder, levels) => {
    expect(globReach(glob, folder)).toBe(levels);
  });
});
