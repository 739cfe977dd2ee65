import {
  type HiddenPath,
  type PerlTools,
  type SandboxPlan,
  type SandboxTools,
  START_FD,
  STATUS_FD,
} from '../sandbox.ts';

export const PERL = '/usr/bin/perl';
/** The numbers of unshare, mount and prctl. */
const CALLS: Readonly<Record<string, PerlTools['calls']>> = { x64: [272, 165, 157], arm64: [97, 40, 167] };
const PERL_VARIABLES = ['PERL5OPT', 'PERL5DB', 'PERL_UNICODE', 'PERLIO'];

/**
 * The system's Perl, unless LOOKFIRST_SANDBOX=bubblewrap switches it off, or a variable that the command must get would
 * change how Perl starts.
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
 * The whole sandbox of the profile `undo` in one program. Bubblewrap needs a second mount namespace and three other
 * programs before it, and the kernel takes long to dismantle mounts.
 *
 * Arguments: numbers of system calls, the user and group to become (-1: stay root), the streams, the locale, then the
 * lists `boundThrough`, `layered`, `folders to hide` and `files to hide` with their lengths, the folder, the command.
 * The first process dies with its parent, the second with the first, and all others with the second, which is the
 * first of the process namespace. If the first has died before the second could ask for its signal, the pipe has
 * ended. Only processes of the command keep its output open, and the second reports when all of them are gone: the
 * caller need not wait until the kernel has dismantled the mounts.
 */
const PERL_SANDBOX: string = `
my ($unshare, $mount, $prctl, $uid, $gid) = map { $_ + 0 } splice @ARGV, 0, 5;
my ($streams, $locale, $localeText) = splice @ARGV, 0, 3;
my ($through, $layered, $folders, $files) = map { [splice @ARGV, 0, shift @ARGV] } 1 .. 4;
my $cwd = shift @ARGV;
my ($zero, $group, $user) = (0, $) + 0, $> + 0);
sub fail { syswrite STDERR, "sandbox: $_[0]: $!\n"; exit 1 }
sub process { syscall $prctl, $_[0], $_[1], $zero, $zero, $zero }
sub mounted { my ($from, $to, $kind, $flags, $data) = @_; syscall($mount, $from, $to, $kind, $flags, $data) == 0 or fail "mount $to" }
sub identity { my ($into, $text) = @_; open my $file, '>', "/proc/self/$into" or fail $into; defined syswrite $file, $text or fail $into }
sub left { $? & 127 ? 128 + ($? & 127) : $? >> 8 }
process 1, 9;
syscall($unshare, 0x20020000 | ($uid < 0 ? 0 : 0x10000000)) == 0 or fail 'unshare';
if ($uid >= 0) {
  identity 'setgroups', 'deny';
  identity 'uid_map', "0 $user 1";
  identity 'gid_map', "0 $group 1";
}
pipe my $alive, my $held or fail 'pipe';
defined(my $first = fork) or fail 'fork';
if ($first) { close $_ for $alive, STDOUT, STDERR; waitpid $first, 0; exit left }
close $held;
process 1, 9;
vec(my $ended = '', fileno $alive, 1) = 1;
exit 1 if select $ended, undef, undef, 0;
mounted 'none', '/', $zero, 0x44000, $zero;
mounted $through->[$_], "through-$_", $zero, 0x1000, $zero for 0 .. $#$through;
mounted 'overlay', $layered->[$_], 'overlay', $zero, "lowerdir=low-$_,upperdir=up-$_,workdir=work-$_,userxattr,volatile" for 0 .. $#$layered;
mounted "through-$_", $through->[$_], $zero, 0x1000, $zero for 0 .. $#$through;
mounted 'proc', '/proc', 'proc', 14, $zero;
mounted 'tmpfs', $_, 'tmpfs', 7, 'mode=0755' for @$folders;
mounted '/dev/null', $_, $zero, 0x1000, $zero for @$files;
chdir $cwd or fail "the folder $cwd";
open my $start, '<&=', ${START_FD} or fail 'start';
open my $status, '>&=', ${STATUS_FD} or fail 'status';
sysread $start, my $byte, 1 or exit 1;
defined(my $command = fork) or fail 'fork';
if ($command) {
  close $_ for STDOUT, STDERR;
  1 until waitpid(-1, 0) == $command;
  my $code = left;
  kill 'KILL', -1;
  1 while waitpid(-1, 0) > 0;
  syswrite $status, "done $code\\n";
  exit $code;
}
close $start;
close $status;
process 38, 1;
if ($uid >= 0) {
  syscall($unshare, 0x10000000) == 0 or fail 'unshare';
  identity 'uid_map', "$uid 0 1";
  identity 'gid_map', "$gid 0 1";
  process 24, $_ for 0 .. 63;
}
open STDERR, '>&', STDOUT if $streams eq 'one';
if ($locale) { $ENV{LC_ALL} = $localeText } else { delete $ENV{LC_ALL} }
exec { $ARGV[0] } @ARGV;
my $isMissing = $! == 2;
syswrite STDERR, $isMissing ? "$ARGV[0]: not found\n" : "$ARGV[0]: $!\n";
exit($isMissing ? 127 : 126)`;

/**
 * The program and arguments that run a plan of the profile `undo`. It starts in two thirds of the time that bubblewrap
 * takes; `bubblewrapArgv` does the same, and the tests of sandboxes run with both.
 */
export function perlArgv(tools: SandboxTools, perl: PerlTools, plan: SandboxPlan): readonly string[] {
  const { uid, gid } = tools.namespace === 'root' ? { uid: -1, gid: -1 } : tools;
  const hidden = (kind: HiddenPath['kind']): readonly string[] =>
    plan.hidden.filter((each) => each.kind === kind).map(({ path }) => path);
  const lists = [plan.boundThrough, plan.layered, hidden('folder'), hidden('file')];
  return [
    perl.program,
    // `-f` skips the administrator's start-up code, which would otherwise run in every sandbox.
    '-f',
    '-e',
    PERL_SANDBOX,
    '--',
    ...[...perl.calls, uid, gid].map(String),
    plan.streams,
    ...(plan.locale === undefined ? ['', ''] : ['set', plan.locale]),
    ...lists.flatMap((list) => [String(list.length), ...list]),
    plan.cwd,
    ...plan.command,
  ];
}
