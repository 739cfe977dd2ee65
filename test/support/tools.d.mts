/**
 * The path of a file in a package that only tests and benchmarks need. These packages are no dependencies of Lookfirst,
 * because they need another Node or are whole servers. Their versions are pinned in folders under test/, and they are
 * installed when first used.
 */
export function toolIn(
  folder: 'adapters' | 'clients' | 'conformance' | 'nodes' | 'servers' | 'tokens',
  file: string,
): Promise<string>;

/** Installs the packages of a folder, as its lock file pins them. */
export function install(cwd: string): Promise<void>;

/** Runs `work`. Other processes of the test run that call this with the same `name` wait meanwhile. */
export function alone<T>(name: string, work: () => T | Promise<T>): Promise<T>;

/**
 * The environment for npm. It has the certificates that the registry may need. Other programs of
 * the tests run without them.
 */
export function npmEnvironment(): NodeJS.ProcessEnv;
