import { describe, expect, it } from 'vitest';
import { globReach } from './glob-reach.ts';

const ALL = Number.POSITIVE_INFINITY;

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
    ['*.key', 'src', 0],
    ['*/x', 'src', ALL],
    ['{a,b}/x', 'src', ALL],
    ['!a/**', 'src', ALL],
  ])('%s at %s: %s', (glob, folder, levels) => {
    expect(globReach(glob, folder)).toBe(levels);
  });
});
