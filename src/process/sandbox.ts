import { FILTER } from './key-filter.ts';

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
   * The shell that reads command lines: bash if it is installed, because agents write commands for
   * bash, or else sh.
   */
  readonly shell: string;
  /** `root`: this process may mount by itself. `user`: it needs a user namespace. */
  readonly namespace: 'root' | 'user';
  readonly uid: number;
  readonly gid: number;
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
 * The standard error of the programs that build the sandbox. It carries their error messages, and
 * then the lines of `FIRST_PROCESS`.
 */
export const STATUS_FD = 2;
/** The descriptor that becomes the standard error of the command, if the two streams are separate. */
export const ERROR_FD = 3;
/**
 * The descriptor on which the sandbox waits for a line before it starts the command. If the
 * descriptor ends without a line, Lookfirst was killed, and the command does not start.
 */
export const START_FD = 4;
/** The descriptor from which bubblewrap reads the system calls that a confined command may not use. */
const FILTER_FD = 5;

/**
 * The first process of the command's namespace, as shell text. All processes of the command end
 * with it. It is a shell of its own, because a command may kill its parent, but not the first
 * process of its namespace. It writes `started`, then `done CODE` when the command has ended.
 * - Processes that still run then get a moment to end by themselves, like a `tee` that is about to
 * write its last bytes. The rest are named by lines `left COMMAND LINE`. They end with this process.
 * - Before the command it sets only a variable with our prefix: another could be one of the command's environment.
 * - Without a program of its own it can only wait by `sleep`, which also collects zombies.
 */
const FIRST_PROCESS = `read -r lookfirst_start <&${START_FD} || exit 1
echo started >&${STATUS_FD}
(exec "$@" ERRORS ${ERROR_FD}>&- ${START_FD}<&-)
code=$?
for pause in 0.01 0.02 0.05 0.1 0.3; do
  left=
  for each in /proc/[0-9]*; do
    read -r stat < $each/stat || continue
    case "$each $stat" in '/proc/1 '* | *') Z '*) ;; *) left="$left $each" ;; esac
  done
  [ -n "$left" ] || break
  sleep $pause
done 2> /dev/null
for each in $left; do
  echo "left $(tr '\\0\\n' '  ' < $each/cmdline)"
done >&${STATUS_FD} 2> /dev/null
echo "done $code" >&${STATUS_FD}
exit $code`;

function firstProcess(streams: SandboxPlan['streams']): string {
  return FIRST_PROCESS.replace('ERRORS', streams === 'one' ? '2>&1' : `2>&${ERROR_FD}`);
}

/**
 * The program and arguments that run a plan. They make a mount namespace, mount one overlay per
 * layered folder, and start bubblewrap. The shell script among the arguments contains no path: it
 * uses names relative to the layer's folder, and gets all other paths as arguments.
 */
export function sandboxArgv(tools: SandboxTools, plan: SandboxPlan): readonly string[] {
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
  const exec = plan.profile.kind === 'undo' ? 'exec "$@"' : `exec "$@" ${FILTER_FD}<${FILTER}`;
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
    tools.bwrap,
    ...bwrapArguments(tools, plan),
    '--',
    '/bin/sh',
    '-c',
    firstProcess(plan.streams),
    'sh',
    ...limited(tools, plan),
  ];
}

function bwrapArguments(tools: SandboxTools, plan: SandboxPlan): string[] {
  const { profile } = plan;
  return [
    '--die-with-parent',
    '--unshare-pid',
    '--as-pid-1',
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

/**
 * The capabilities that a command of root keeps in the profile `undo`: those for files, processes,
 * users and the network, as numbers of the kernel. All others reach beyond that: the clock, modules,
 * raw I/O, mounts, device nodes and more. Handles of files (`CAP_DAC_READ_SEARCH`) are among them,
 * because a file opened by its handle is not on the layer.
 */
const ROOT_KEEPS = [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 23, 24, 28, 29, 31];
/** The number of bits for capabilities in the kernel. Newer kernels have more capabilities than this program knows. */
const CAPABILITIES = 64;

/**
 * The arguments that drop all capabilities except `ROOT_KEEPS`. Drops each by its number: if
 * bubblewrap should add a capability that this process lacks, it would silently keep all of them.
 */
function limitedRoot(): string[] {
  const numbers = Array.from({ length: CAPABILITIES }, (_, number) => number);
  return numbers
    .filter((number) => !ROOT_KEEPS.includes(number))
    .flatMap((number) => ['--cap-drop', String(number)]);
}

/**
 * Mounts /proc and makes the settings of the kernel read-only: a process with root's user id may
 * write them even without capabilities. A changed `core_pattern` would run a program outside the
 * sandbox.
 */
const FIXED_KERNEL = [
  '--proc',
  '/proc',
  '--ro-bind',
  '/proc/sys',
  '/proc/sys',
  '--ro-bind-try',
  '/sys',
  '/sys',
];

function undoArguments(tools: SandboxTools): string[] {
  // If this process is root, keep its identity: in a user namespace it could not change the files
  // of other users.
  const identity = tools.namespace === 'root' ? limitedRoot() : ownIdentity(tools);
  return [...identity, '--dev-bind', '/', '/', ...FIXED_KERNEL];
}

function confineArguments(tools: SandboxTools, network: 'on' | 'off'): string[] {
  return [
    ...ownIdentity(tools),
    '--seccomp',
    String(FILTER_FD),
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
    ...FIXED_KERNEL,
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

/** The command with the limits of its profile. */
function limited({ prlimit }: SandboxTools, { profile, command }: SandboxPlan): readonly string[] {
  if (profile.kind === 'undo') return command;
  const { maxProcesses, memoryBytes, fileBytes } = profile.limits;
  return [
    prlimit,
    `--nproc=${maxProcesses}`,
    // Limits data, not address space: Node and Java reserve gigabytes of address space.
    `--data=${memoryBytes}`,
    `--fsize=${fileBytes}`,
    '--core=0',
    '--',
    // Start the program through `sh`. If the program does not exist, `sh` gives the usual message
    // and exit code.
    '/bin/sh',
    '-c',
    'exec "$@"',
    'sh',
    ...command,
  ];
}
