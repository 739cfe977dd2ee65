import { type PipelineNode, parse } from 'unbash';
import { MAX_LENGTH } from './commands.ts';

/** A command or pipeline of a shell line that is not inside another one. */
export interface ShellStep {
  readonly text: string;
  /** The position of the text in the line. */
  readonly at: number;
  /**
   * True for a command with a name, or a pipeline of such commands. False for conditions, loops,
   * groups, functions and assignments.
   */
  readonly isSimple: boolean;
}

/** The steps of a line in their order, whatever operators are between them. Undefined if the line cannot be parsed. */
export function stepsOf(line: string): readonly ShellStep[] | undefined {
  if (line.length > MAX_LENGTH) return undefined;
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return undefined;
  return script.commands
    .flatMap(({ command }) => (command.type === 'AndOr' ? command.commands : [command]))
    .map((node) => ({ text: line.slice(node.pos, node.end), at: node.pos, isSimple: isSimple(node) }));
}

function isSimple(node: PipelineNode): boolean {
  if (node.type === 'Pipeline') return node.commands.every(isSimple);
  if (node.type !== 'Command' || node.name === undefined) return false;
  return node.prefix.every(({ type }) => type !== 'Assignment');
}
