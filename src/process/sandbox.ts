/** Limits of one command. Times are wall-clock; memory counts per process. */
interface CommandLimits {
  readonly timeoutMs: number;
  readonly maxProcesses: number;
  readonly memoryBytes: number;
  readonly fileBytes: number;
}

/**
 * The degree to which a command is isolated from the machine. `undo`: only its writes to the
 * workspace folders go to a copy-on-write layer. `confine`: also a read-only machine, private /tmp
 * and /run, hidden secrets, no capabilities, limits, and no network unless it is allowed.
 */
export type Profile =
  | { readonly kind: 'undo' }
  | { readonly kind: 'confine'; readonly network: 'on' | 'off'; readonly limits: CommandLimits };

/**
 * Absolute paths of the programs that build a sandbox, and whether mounting needs a user namespace.
 */
export interface SandboxTools {
  readonly unshare: string;
  readonly mount: string;
  readonly bwrap: string;
  readonly prlimit: string;
  /**
   * Perl builds sandboxes of the profile `undo` in a third less time than bubblewrap. If Perl is
   * undefined, bubblewrap builds these sandboxes too.
   */
  readonly perl: PerlTools | undefined;
  /**
   * The shell that reads command lines: bash if it is installed, because agents write commands for
   * bash, or else sh.
   */
  readonly shell: string;
  /** `root`: this process may mount by itself. `user`: it needs a user namespace. */
  readonly namespace: 'root' | 'user';
  readonly uid: number;
  readonly gid: number;
}

/** Perl, and the numbers of the system calls that it has no function for. */
export interface PerlTools {
  readonly program: string;
  readonly calls: readonly [unshare: number, mount: number, prctl: number, leave: number, keyctl: number];
}

/** A path that the command must not see. An empty folder or file replaces it. */
export interface HiddenPath {
  readonly path: string;
  readonly kind: 'folder' | 'file';
}

/** One command in one sandbox. Every path is absolute and canonical. */
export interface SandboxPlan {
  readonly profile: Profile;
  /**
   * The layer's folder. For the Nth layered folder it holds `low-N` (the original), `up-N` (the
   * command's writes) and `work-N` (for overlayfs). `through-N`: see `boundThrough`.
   */
  readonly layer: string;
  /**
   * Folders with a copy-on-write layer over them. An inner folder comes after the folder that
   * contains it.
   */
  readonly layered: readonly string[];
  /**
   * Indexes in `layered` of folders that are the root of another file system. Each is bind-mounted
   * at its `low-N` before any layer is mounted, because a layer over an outer folder would hide it.
   */
  readonly mounted: readonly number[];
  /** Folders inside a layered folder that the command uses without a layer; see `makePassage`. */
  readonly boundThrough: readonly string[];
  readonly hidden: readonly HiddenPath[];
  readonly cwd: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** `one`: standard error joins standard output. `two`: the two stay separate. */
  readonly streams: 'one' | 'two';
  /** The command's own LC_ALL. The programs that build the sandbox run with `C`. */
  readonly locale: string | undefined;
}

/**
 * The descriptor on which the program that builds the sandbox (Perl or bubblewrap) reports the exit
 * code of the command. Perl writes `done CODE` when no process of the command is left. Bubblewrap
 * writes `exit-code` when some of these processes may still run.
 */
export const STATUS_FD = 3;
/**
 * The descriptor on which bubblewrap waits for a byte before it starts the command. Perl waits on
 * `STATUS_FD` instead.
 */
export const START_FD = 4;

/**
 * The program and arguments that run a plan. They make a mount namespace, mount one overlay per
 * layered folder, and start bubblewrap. The shell script among the arguments contains no path: it
 * uses names relative to the layer's folder, and gets all other paths as arguments.
 */
export function bubblewrapArgv(tools: SandboxTools, plan: SandboxPlan): readonly string[] {
  const through = plan.boundThrough.map(
    (_path, index) => `"$1" -i --bind "\${${index + 2}}" through-${index}`,
  );
  const target = (index: number): string => `"\${${index + 2 + plan.boundThrough.length}}"`;
  const lower = plan.mounted.map((index) => `"$1" -i --bind ${target(index)} low-${index}`);
  const overlays = plan.layered.map(
    (_path, index) =>
      `"$1" -i -t overlay overlay -o lowerdir=low-${index},upperdir=up-${index},workdir=work-${index},userxattr,volatile ${target(index)}`,
  );
  const paths = [...plan.boundThrough, ...plan.layered];
  const locale = plan.locale === undefined ? 'unset LC_ALL' : `LC_ALL="\${${paths.length + 2}}"`;
  const exec = plan.streams === 'one' ? 'exec "$@" 2>&1' : 'exec "$@"';
  const script = [...through, ...lower, ...overlays, locale, `shift ${paths.length + 2}`, exec].join(' && ');
  const namespace = tools.namespace === 'root' ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  return [
    tools.unshare,
    ...namespace,
    '--',
    '/bin/sh',
    '-c',
    script,
    'sh',
    tools.mount,
    ...paths,
    plan.locale ?? '',
    ...withoutKeys(tools, plan.profile),
    tools.bwrap,
    ...bwrapArguments(tools, plan),
    '--',
    ...limited(tools, plan),
  ];
}

/**
 * The words before a confined command that give it an empty keyring. Otherwise it would inherit a
 * keyring of the kernel, which may hold passwords and tickets. Needs Perl, because no other usual
 * program can make a keyring. Without Perl, the list is empty.
 */
function withoutKeys({ perl }: SandboxTools, profile: Profile): readonly string[] {
  if (profile.kind === 'undo' || perl === undefined) return [];
  const text = `syscall ${perl.calls[4]}, 1, 0; exec { $ARGV[0] } @ARGV; exit 127`;
  return [perl.program, '-f', '-e', text, '--'];
}

function bwrapArguments(tools: SandboxTools, plan: SandboxPlan): string[] {
  const { profile } = plan;
  const descriptors = ['--json-status-fd', String(STATUS_FD), '--block-fd', String(START_FD)];
  const common = ['--die-with-parent', '--unshare-pid', ...descriptors];
  return [
    ...common,
    ...(profile.kind === 'undo' ? undoArguments(tools) : confineArguments(tools, profile.network)),
    ...plan.layered.flatMap((path) => (profile.kind === 'undo' ? [] : ['--bind', path, path])),
    ...plan.boundThrough.flatMap((path, index) => ['--bind', `${plan.layer}/through-${index}`, path]),
    ...plan.hidden.flatMap(hiding),
    '--chdir',
    plan.cwd,
  ];
}

/**
 * The bubblewrap arguments that restore the user's own identity. The sandbox is built as root of a
 * namespace, because mounting needs that.
 */
function ownIdentity(tools: SandboxTools): string[] {
  return ['--unshare-user', '--uid', String(tools.uid), '--gid', String(tools.gid), '--cap-drop', 'ALL'];
}

function undoArguments(tools: SandboxTools): string[] {
  // If this process is root, keep its identity: in a user namespace it could not change the files
  // of other users.
  const identity = tools.namespace === 'root' ? [] : ownIdentity(tools);
  return [...identity, '--dev-bind', '/', '/', '--proc', '/proc'];
}

function confineArguments(tools: SandboxTools, network: 'on' | 'off'): string[] {
  return [
    ...ownIdentity(tools),
    ...(network === 'off' ? ['--unshare-net'] : []),
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    '--new-session',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    // Mount /proc/sys read-only: a process with root's user id may write there even without
    // capabilities. A changed `core_pattern` would run a program outside the sandbox.
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    // Hide /run, which contains sockets of the machine's services: a program can connect to a
    // socket even on a read-only mount.
    '--tmpfs',
    '/run',
    '--tmpfs',
    '/tmp',
    '--tmpfs',
    '/var/tmp',
  ];
}

function hiding({ path, kind }: HiddenPath): string[] {
  return kind === 'folder' ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path];
}

/** The command with the limits of its profile, for bubblewrap. */
function limited(tools: SandboxTools, { profile, command }: SandboxPlan): readonly string[] {
  // Start a program other than the shell through `sh`. If the program does not exist, `sh` gives
  // the usual message and exit code, while bubblewrap would only end with code 1.
  const found = command[0] === tools.shell ? command : ['/bin/sh', '-c', 'exec "$@"', 'sh', ...command];
  if (profile.kind === 'undo') return found;
  const { maxProcesses, memoryBytes, fileBytes } = profile.limits;
  return [
    tools.prlimit,
    `--nproc=${maxProcesses}`,
    // Limits data, not address space: Node and Java reserve gigabytes of address space.
    `--data=${memoryBytes}`,
    `--fsize=${fileBytes}`,
    '--core=0',
    '--',
    ...found,
  ];
}
