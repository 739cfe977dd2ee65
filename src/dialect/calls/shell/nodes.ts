import { type Command, forEachChild, type PipelineNode, type Redirection, type SyntaxNode } from 'unbash';
import { type ShellRedirect, STDIN, STDOUT } from './shell-command.ts';
import { literalOf, type Variables } from './values.ts';
import { programOf, type Words, wordsOf } from './words.ts';

/** A redirection, with the values of variables put in. */
export function redirectOf(redirect: Redirection, variables: Variables): ShellRedirect {
  const { operator } = redirect;
  const descriptor = descriptorOf(redirect);
  if (redirect.type !== 'HereDoc')
    return { operator, descriptor, target: redirect.target && literalOf(redirect.target, variables) };
  const { body, delimiter, closing } = redirect;
  const isExpanded = delimiter?.quoted !== true && /[$`\\]/.test(body.text);
  const text = operator === '<<-' ? body.text.replace(/^\t+/gm, '') : body.text;
  // Shells differ about the final newline of a here-document that is not closed.
  return { operator, descriptor, text: isExpanded ? undefined : text, ...(closing ? {} : { open: true }) };
}

/** Programs that start a process which outlives them. */
const STARTERS = /^(?:daemonize|start-stop-daemon|tmux|screen|pm2)$/;
const DETACHING = /^--(?:daemon|daemonize|detach|fork)$/;
const SETSID_FORKS = '-f';

function descriptorOf({ descriptor, operator }: Redirection): number | undefined {
  if (descriptor === undefined) return operator.startsWith('<') ? STDIN : STDOUT;
  return descriptor.type === 'FileDescriptor' ? descriptor.value : undefined;
}

/** True if a command starts a process that outlives it. */
export function startsProcess([name, ...args]: Words): boolean {
  const program = programOf(name);
  if (STARTERS.test(program) || (program === 'setsid' && args.includes(SETSID_FORKS))) return true;
  return args.some((arg) => DETACHING.test(arg ?? ''));
}

/**
 * Commands that are assumed to succeed. `cd` can fail, but a line that begins with `cd` usually
 * names an existing folder.
 */
const SURE = new Set([':', 'cd', 'echo', 'exit', 'export', 'printf', 'set', 'true']);

/** False for a command that is assumed to succeed. */
export function mayFail(node: PipelineNode): boolean {
  if (node.type !== 'Command') return true;
  const [name = '', ...args] = wordsOf(node);
  const isSure =
    SURE.has(name) || (name === 'mkdir' && args.some((arg) => /^-\w*p|^--parents$/.test(arg ?? '')));
  return !isSure;
}

/** Commands that may change the folder, or after which the rest of the line may not run. */
const LEAVING = new Set(['cd', 'pushd', 'popd', 'eval', 'source', '.', 'exit', 'return', 'exec']);

/**
 * Nodes whose commands run later or in a shell of their own. `Word` covers substitutions, which are parts of words.
 */
const OWN_SHELL: ReadonlySet<string> = new Set(['Function', 'Subshell', 'Word']);

/** True if a condition or loop may change the folder, or may end the shell. */
export function mayLeave(node: SyntaxNode): boolean {
  if (OWN_SHELL.has(node.type)) return false;
  if (node.type === 'Command' && node.name !== undefined) {
    const [name] = wordsOf(node);
    if (name === undefined || LEAVING.has(name)) return true;
  }
  let leaves = false;
  forEachChild(node, (child) => {
    leaves ||= mayLeave(child);
  });
  return leaves;
}

/** True for a command with a name, or a pipeline of such commands, without assignments. */
export function isSimple(node: PipelineNode): boolean {
  if (node.type === 'Pipeline') return node.commands.every(isSimple);
  if (node.type !== 'Command' || node.name === undefined) return false;
  return node.prefix.every(({ type }) => type !== 'Assignment');
}

/** Commands after which a variable may have any value. */
const SETS_VARIABLES = /^(?:read|unset|getopts|mapfile|readarray|let|source|\.|shift|eval)$/;
const DECLARES = /^(?:export|readonly|local|declare|typeset)$/;

/** The assignments by which a command changes variables of its shell, or `all` if it may change any. */
export function assignmentsOf(node: Command): Command['prefix'] | 'all' {
  const [name, ...args] = wordsOf(node);
  if (node.name === undefined) return node.prefix;
  if (name === undefined || SETS_VARIABLES.test(name) || (name === 'printf' && args.includes('-v')))
    return 'all';
  return DECLARES.test(name) ? node.args.filter((arg) => arg.type === 'Assignment') : [];
}

/** True if a loop may end before all its rounds, or skip a part of one. */
export function breaksOff(node: SyntaxNode): boolean {
  if (node.type === 'Command') return /^(?:break|continue|return)$/.test(wordsOf(node)[0] ?? '');
  let breaks = false;
  forEachChild(node, (child) => {
    breaks ||= breaksOff(child);
  });
  return breaks;
}
