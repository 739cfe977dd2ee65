import type { ServerAnswer, ServerProcess } from '../server-process.ts';
import type { Stage } from '../stage.ts';

/** One line of the demo's output. */
export interface DemoLine {
  readonly who: 'agent' | 'agent 2' | 'gate' | 'person' | 'file';
  readonly text: string;
}

/** The parts that a scene uses. */
export interface Play {
  readonly stage: Stage;
  readonly agent: ServerProcess;
  readonly second: ServerProcess;
  tell(who: DemoLine['who'], text: string): void;
  /** Calls a tool as the agent and prints the call and its result. */
  act(tool: string, args: Readonly<Record<string, unknown>>): Promise<ServerAnswer>;
}

/** One promise and the calls that demonstrate it. */
export interface DemoScene {
  readonly title: string;
  readonly promise: string;
  /** True if the promise held. */
  play(play: Play): Promise<boolean>;
}
