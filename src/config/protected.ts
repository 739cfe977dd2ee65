/**
 * Git's own files. Sessions may not write them. Commands may, because git itself is a command. A
 * separate guard protects the files that make git run programs.
 */
export const GIT_FOLDERS: readonly string[] = ['**/.git', '**/.git/**'];

/**
 * Files that no session may read or write unless the operator's policy allows it. The globs match
 * the path inside the root and ignore case. `.env`, `.npmrc` and `*.key` are deliberately absent,
 * because agents work on them daily.
 */
export const DEFAULT_PROTECTED: readonly string[] = [
  // A write to Git's own files can make the next git command run code (hooks, config) or use another repository
  // (`.git` as a file).
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

/**
 * The protected files of the preset `staleness`, which imitates another tool (seed D in the tests):
 * the default ones, and those that this tool protects.
 */
export const SEED_D_PROTECTED: readonly string[] = [
  ...DEFAULT_PROTECTED,
  '**/.gcloud/**',
  '**/.npmrc',
  '**/.m2/settings.xml',
  '**/.gradle/gradle.properties',
  '**/kubeconfig',
];
