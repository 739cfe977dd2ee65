/**
 * A file of a package that only tests and benchmarks need and that is not a dependency of Lookfirst, because it needs another
 * Node or is a whole server. Such packages have a folder under test/ with pinned versions, installed when first used.
 */
export function toolIn(
  folder: 'adapters' | 'clients' | 'conformance' | 'servers' | 'tokens',
  file: string,
): string;

/** The environment for npm, with the certificates that its registry may need and other programs of the tests do not get. */
export function npmEnvironment(): NodeJS.ProcessEnv;
