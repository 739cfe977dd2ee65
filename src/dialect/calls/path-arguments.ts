import { type Arguments, givenName, scopesOf, whereIs } from './rule-scope.ts';
import type { ArgumentName, Rule } from './table.ts';

/** A path among the arguments of a call. */
export interface PathArgument {
  /** Names and positions that lead to it, outermost first. */
  readonly at: readonly (string | number)[];
  readonly path: string;
}

/**
 * Every path a call gives, and where it is among the arguments. Left out is what goes to the server as it was given:
 * what may be a name, and the empty path of a call that only looks, which servers treat as no path.
 */
export function pathArguments(rules: readonly Rule[], args: Arguments): PathArgument[] {
  const found: PathArgument[] = [];
  for (const rule of rules)
    for (const scope of scopesOf(rule, args))
      for (const names of pathNames(rule)) {
        const name = givenName(scope.values, names);
        const path = name === undefined ? undefined : scope.values[name];
        if (name !== undefined && typeof path === 'string' && namesAPlace(rule, path))
          found.push({ at: whereIs(scope, name), path });
      }
  return found;
}

function pathNames(rule: Rule): readonly ArgumentName[] {
  switch (rule.does) {
    case 'run':
    case 'patch':
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
