/**
 * The path of a file in a package that only tests and benchmarks need. These packages are no dependencies of Lookfirst,
 * because they need another Node or are whole servers. Their versions are pinned in folders under test/, and they are
 * installed when first used.
 */
export function toolIn(
  folder: 'adapters' | 'clients' | 'conformance' | 'servers' | 'tokens',
  file: string,
): Promise<string>;

/** Installs the packages of a folder, as its lock file pins them. */
export function install(cwd: string): Promise<void>;

/** Runs `work` in one process of a test run at a time. */
export function alone<T>(name: string, work: () => T | Promise<T>): Promise<T>;

/** The environment for npm, with the certificates that its registry may need and other programs of the tests do not get. */
export function npmEnvironment(): NodeJS.ProcessEnv;
