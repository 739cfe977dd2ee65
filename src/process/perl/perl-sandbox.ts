import {
  type HiddenPath,
  type PerlTools,
  type SandboxPlan,
  type SandboxTools,
  STATUS_FD,
} from '../sandbox.ts';

export const PERL = '/usr/bin/perl';
/** The numbers of the system calls unshare, mount, prctl, exit_group and keyctl, by processor. */
const CALLS: Readonly<Record<string, PerlTools['calls']>> = {
  x64: [272, 165, 157, 231, 250],
  arm64: [97, 40, 167, 94, 219],
};
const PERL_VARIABLES = ['PERL5OPT', 'PERL5DB', 'PERL_UNICODE', 'PERLIO'];

/**
 * The system's Perl. Undefined if `CALLS` lacks the processor, if LOOKFIRST_SANDBOX is `bubblewrap`,
 * or if a variable is set that would change how Perl runs.
 */
export function findPerl(
  arch: string,
  env: Readonly<Record<string, string | undefined>>,
): PerlTools | undefined {
  const calls = CALLS[arch];
  const isOff = env['LOOKFIRST_SANDBOX'] === 'bubblewrap';
  if (calls === undefined || isOff || PERL_VARIABLES.some((name) => env[name] !== undefined))
    return undefined;
  return { program: PERL, calls };
}

/**
 * The Perl program that makes the whole sandbox of the profile `undo`, faster than bubblewrap. It
 * contains only the statements that this plan needs, because Perl compiles it at every start.
 * - Perl forks: the outer process waits, and the inner process builds the sandbox. The kernel kills
 * the outer process when Lookfirst dies, and the inner process when the outer one dies. The inner
 * process is the first of the command's namespace, so all processes of the command die with it.
 * - The kernel kills the inner process only if that process has requested it. If the outer process
 * died before the request, the pipe `$alive` has ended, and the inner process exits.
 * - The inner process reports when no process of the command is left, so Lookfirst need not wait
 * until the kernel has removed the mounts.
 * - Lookfirst makes the overlay layer while Perl starts. Lookfirst sends one byte when the layer
 * exists, and another to start the command. After a failure, Perl still reads both bytes: if
 * Lookfirst could not write them, it would not receive the error message.
 * - `exit_group` skips Perl's own clean-up, which takes 0.3 ms.
 */
function sandboxText({ namespace, uid, gid }: SandboxTools, { calls }: PerlTools, plan: SandboxPlan): string {
  const [unshare, mount, prctl, leave] = calls;
  const isUser = namespace === 'user';
  const dieWithParent = `syscall ${prctl}, 1, 9, 0, 0, 0;`;
  const identity = `
sub identity { my ($into, $text) = @_; open my $file, '>', "/proc/self/$into" or fail($into); defined syswrite $file, $text or fail($into) }`;
  const becomeRoot = `
identity 'setgroups', 'deny';
identity 'uid_map', "0 $user 1";
identity 'gid_map', "0 $group 1";`;
  const becomeUser = `
syscall(${unshare}, 0x10000000) == 0 or fail 'unshare';
identity 'uid_map', '${uid} 0 1';
identity 'gid_map', '${gid} 0 1';
syscall ${prctl}, 24, $_, 0, 0, 0 for 0 .. 63;`;
  const { through, layered, folders, files } = pathsOf(plan);
  const lists = Object.entries({ through, layered, folders, files });
  const some = (paths: readonly string[], text: string): string => (paths.length === 0 ? '' : text);
  return String.raw`open my $status, '+<&=', ${STATUS_FD} or exit 1;
sub fail { syswrite $status, "sandbox: $_[0]: $!\n"; 1 while sysread $status, my $byte, 9; exit 1 }
sub mounted { my ($from, $to, $kind, $flags, $data) = @_; syscall(${mount}, $from, $to, $kind, $flags, $data) == 0 or fail "mount $to" }
sub left { $? & 127 ? 128 + ($? & 127) : $? >> 8 }${isUser ? identity : ''}
${lists.map(([name, paths]) => some(paths, `my @${name} = splice @ARGV, 0, ${paths.length};`)).join('')}
${dieWithParent}
${isUser ? 'my ($user, $group) = ($> + 0, $) + 0);' : ''}
syscall(${unshare}, ${isUser ? '0x30020000' : '0x20020000'}) == 0 or fail 'unshare';${isUser ? becomeRoot : ''}
pipe my $alive, my $held or fail 'pipe';
defined(my $first = fork) or fail 'fork';
if ($first) { close $_ for $alive, STDOUT, STDERR; waitpid $first, 0; syscall ${leave}, left }
close $held;
${dieWithParent}
vec(my $ended = '', fileno $alive, 1) = 1;
exit 1 if select $ended, undef, undef, 0;
mounted 'none', '/', 0, 0x44000, 0;
sysread $status, my $made, 1 or exit 1;
my $layer = shift @ARGV;
chdir $layer or fail "the folder $layer";
${some(through, 'mounted $through[$_], "through-$_", 0, 0x1000, 0 for 0 .. $#through;')}
${plan.mounted.map((index) => `mounted $layered[${index}], 'low-${index}', 0, 0x1000, 0;`).join('')}
mounted 'overlay', $layered[$_], 'overlay', 0, "lowerdir=low-$_,upperdir=up-$_,workdir=work-$_,userxattr,volatile" for 0 .. $#layered;
${some(through, 'mounted "through-$_", $through[$_], 0, 0x1000, 0 for 0 .. $#through;')}
mounted 'proc', '/proc', 'proc', 14, 0;
${some(folders, "mounted 'tmpfs', $_, 'tmpfs', 7, 'mode=0755' for @folders;")}
${some(files, "mounted '/dev/null', $_, 0, 0x1000, 0 for @files;")}
my $cwd = shift @ARGV;
chdir $cwd or fail "the folder $cwd";
sysread $status, my $byte, 1 or exit 1;
defined(my $command = fork) or fail 'fork';
if ($command) {
  close $_ for STDOUT, STDERR;
  1 until waitpid(-1, 0) == $command;
  my $code = left;
  kill 'KILL', -1;
  1 while waitpid(-1, 0) > 0;
  syswrite $status, "done $code\n";
  syscall ${leave}, $code;
}
syscall ${prctl}, 38, 1, 0, 0, 0;${isUser ? becomeUser : ''}
close $status;
${plan.streams === 'one' ? "open STDERR, '>&', STDOUT;" : ''}
${plan.locale === undefined ? 'delete $ENV{LC_ALL}' : '$ENV{LC_ALL} = shift @ARGV'};
exec { $ARGV[0] } @ARGV;
my $isMissing = $! == 2;
syswrite STDERR, $isMissing ? "$ARGV[0]: not found\n" : "$ARGV[0]: $!\n";
exit($isMissing ? 127 : 126)`;
}

type Paths = Readonly<Record<'through' | 'layered' | 'folders' | 'files', readonly string[]>>;

function pathsOf({ boundThrough, layered, hidden }: SandboxPlan): Paths {
  const of = (wanted: HiddenPath['kind']): readonly string[] =>
    hidden.filter(({ kind }) => kind === wanted).map(({ path }) => path);
  return { through: boundThrough, layered, folders: of('folder'), files: of('file') };
}

/**
 * The command line (Perl and its arguments) that runs a plan of the profile `undo`.
 * `bubblewrapArgv` returns one with the same effect for bubblewrap, which takes one and a half
 * times as long to start. The tests of sandboxes run with both.
 */
export function perlArgv(tools: SandboxTools, perl: PerlTools, plan: SandboxPlan): readonly string[] {
  const { through, layered, folders, files } = pathsOf(plan);
  return [
    perl.program,
    // `-f` skips the administrator's start-up code, which would otherwise run in every sandbox.
    '-f',
    '-e',
    sandboxText(tools, perl, plan),
    '--',
    ...[through, layered, folders, files].flat(),
    plan.layer,
    plan.cwd,
    ...(plan.locale === undefined ? [] : [plan.locale]),
    ...plan.command,
  ];
}
