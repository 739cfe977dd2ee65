import { type Arguments, givenName, scopesOf, targetOf } from './rule-scope.ts';
import type { ArgumentName, Rule } from './table.ts';

/** A path among the arguments of a call. */
export interface PathArgument {
  /** Property names and array indexes that lead to the path, outermost first. */
  readonly at: readonly (string | number)[];
  readonly path: string;
}

/**
 * Every path in a call, and its position among the arguments. Values that the server gets unchanged are skipped:
 * possible names, and the empty path of a reading call, which servers treat as absent.
 */
export function pathArguments(rules: readonly Rule[], args: Arguments): PathArgument[] {
  const found: PathArgument[] = [];
  for (const rule of rules)
    for (const scope of scopesOf(rule, args))
      for (const names of pathNames(rule)) {
        const name = givenName(scope.values, names);
        const path = name === undefined ? undefined : scope.values[name];
        if (name !== undefined && typeof path === 'string' && namesAPlace(rule, path))
          found.push({ at: targetOf(scope, name), path });
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
