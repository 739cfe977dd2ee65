/** Git's own files. Commands may change them, because git is a command. The files that run programs have a guard of their own. */
export const GIT_FOLDERS: readonly string[] = ['**/.git', '**/.git/**'];

/**
 * Files that no session may read or write unless the operator's policy allows it: private keys, stored credentials, Git's own files.
 * The globs match the path inside the root, in either case, dot files included.
 * Deliberately absent: `.env`, `.npmrc` and `*.key`, which agents work on daily and whose real secrets belong elsewhere.
 */
export const DEFAULT_PROTECTED: readonly string[] = [
  // A write here can run code at the next git command (hooks, config) or redirect it (`.git` as a file).
  ...GIT_FOLDERS,
  '**/.git-credentials',
  '**/.ssh/**',
  '**/.gnupg/**',
  '**/.aws/**',
  '**/.azure/**',
  '**/.config/gcloud/**',
  '**/.kube/config',
  '**/.docker/config.json',
  '**/.netrc',
  '**/_netrc',
  '**/.pypirc',
  '**/.gem/credentials',
  '**/id_rsa',
  '**/id_dsa',
  '**/id_ecdsa',
  '**/id_ed25519',
  '**/*.pem',
  '**/*.p12',
  '**/*.pfx',
];

/** Seed D guards these as well (its list of sensitive reads). */
export const SEED_D_PROTECTED: readonly string[] = [
  ...DEFAULT_PROTECTED,
  '**/.gcloud/**',
  '**/.npmrc',
  '**/.m2/settings.xml',
  '**/.gradle/gradle.properties',
  '**/kubeconfig',
];
