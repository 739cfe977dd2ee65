import { type Arguments, scopesOf, whereIs } from './rule-scope.ts';
import type { Rule } from './table.ts';

/** A path among the arguments of a call. */
export interface PathArgument {
  /** Names and positions that lead to it, outermost first. */
  readonly at: readonly (string | number)[];
  readonly path: string;
}

/**
 * Every path a call gives, and where it stands. Left out is what goes to the server as it was given: what may be a name,
 * and the empty path where only something is looked at, which to servers is the same as none.
 */
export function pathArguments(rules: readonly Rule[], args: Arguments): PathArgument[] {
  const found: PathArgument[] = [];
  for (const rule of rules)
    for (const scope of scopesOf(rule, args))
      for (const name of pathNames(rule)) {
        const path = scope.values[name];
        if (typeof path === 'string' && namesAPlace(rule, path))
          found.push({ at: whereIs(scope, name), path });
      }
  return found;
}

function pathNames(rule: Rule): readonly string[] {
  switch (rule.does) {
    case 'run':
    case 'unknown':
    case 'nothing':
      return [];
    case 'move':
    case 'copy':
      return [rule.source, rule.destination];
    default:
      return [rule.path];
  }
}

function namesAPlace(rule: Rule, path: string): boolean {
  return rule.does !== 'look' || (rule.orName !== true && path !== '');
}
