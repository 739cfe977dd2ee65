import { type Command, forEachChild, parse, type Statement, type SyntaxNode } from 'unbash';
import { commandWords, MAX_LENGTH, programOf, scriptOf } from './commands.ts';

/** Commands after which a background process of the same line counts as ended or awaited. */
const ENDING = /^(?:wait|kill|pkill|killall)$/;
/** Programs that start a process which outlives them. */
const STARTERS = /^(?:daemonize|start-stop-daemon|tmux|screen|pm2)$/;
const DETACHING = /^--(?:daemon|daemonize|detach|fork)$/;
const SETSID_FORKS = '-f';
const MAX_DEPTH = 3;

/**
 * True if processes of a shell line may still run when the line has ended: `server &` without a
 * later `wait` or `kill`, or a program that starts others in the background. False if the line
 * cannot be parsed. A script can start processes too, which no line shows.
 */
export function leavesProcesses(line: string): boolean {
  return leavesIn(line, 0);
}

function leavesIn(line: string, depth: number): boolean {
  if (line.length > MAX_LENGTH || depth > MAX_DEPTH) return false;
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return false;
  return listLeaves(script.commands, depth);
}

/** The processes of a list may be ended by a later statement of the same list, not by one inside it. */
function listLeaves(statements: readonly Statement[], depth: number): boolean {
  return statements.some(
    (statement, at) =>
      (statement.background === true || nodeLeaves(statement.command, depth)) &&
      !statements.slice(at + 1).some(endsProcesses),
  );
}

function nodeLeaves(node: SyntaxNode, depth: number): boolean {
  if (node.type === 'Command' && commandLeaves(node, depth)) return true;
  if (node.type === 'CompoundList' || node.type === 'Script') return listLeaves(node.commands, depth);
  let leaves = false;
  forEachChild(node, (child) => {
    leaves ||= nodeLeaves(child, depth);
  });
  return leaves;
}

function commandLeaves(node: Command, depth: number): boolean {
  const words = commandWords(node);
  const script = scriptOf(words);
  if (script !== undefined) return leavesIn(script, depth + 1);
  const [name = '', ...args] = words;
  const program = programOf(name);
  if (STARTERS.test(program) || (program === 'setsid' && args.includes(SETSID_FORKS))) return true;
  return args.some((arg) => DETACHING.test(arg ?? ''));
}

function endsProcesses(node: SyntaxNode): boolean {
  if (node.type === 'Command' && ENDING.test(programOf(commandWords(node)[0] ?? ''))) return true;
  let ends = false;
  forEachChild(node, (child) => {
    ends ||= endsProcesses(child);
  });
  return ends;
}
