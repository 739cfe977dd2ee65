import { inferRules } from '../dialect/calls/infer.ts';
import { interpretCall, isHarmless } from '../dialect/calls/interpret.ts';
import type { Arguments } from '../dialect/calls/rule-scope.ts';
import type { Rule } from '../dialect/calls/table.ts';
import type { ReadStep, Step } from '../dialect/calls/touch.ts';
import type { ForeignIntent } from '../model/intent.ts';
import type { Action } from '../model/verdict.ts';
import type { Catalogue } from './catalogue.ts';
import { upstreamPath } from './paths.ts';

/** What a call will do, and how sure we are of it. */
export interface Understanding {
  readonly steps: readonly Step[];
  /** Nobody has described this tool: the steps are a guess. */
  readonly guessed: boolean;
  /** The policy for unknown tools applies: something may change that no step names. */
  readonly unexplained: boolean;
  /** The file the upstream will open for a path of the call. */
  place(path: string): string;
}

/** What a call does, by a table if one has the tool, otherwise by a guess. */
export function understand(
  catalogue: Catalogue,
  call: { readonly tool: string; readonly args: Arguments },
  cwd: string,
): Understanding {
  const { relativeTo = 'cwd', expandsHome = true } = catalogue.table ?? {};
  const place = (path: string): string => upstreamPath(path, { relativeTo, expandsHome, cwd });
  const rules = catalogue.rulesOf(call.tool);
  if (rules === undefined) {
    const inference = inferRules(catalogue.traitsOf(call.tool), call.args);
    const steps = interpretCall(inference.rules, call.args);
    return { steps, guessed: true, unexplained: inference.mayChange, place };
  }
  const steps = interpretCall(rules, call.args);
  // A tool that only looks may be called without a path; one that changes something must say where.
  const lost = steps.length === 0 && rules.some(mayChange) && !isHarmless(rules, call.args);
  const unexplained = lost || steps.some((step) => step.does === 'unknown' || step.does === 'run');
  return { steps, guessed: false, unexplained, place };
}

function mayChange({ does }: Rule): boolean {
  return does !== 'look' && does !== 'list' && does !== 'read' && does !== 'nothing';
}

/** Every path a call is about, as the caller wrote it. */
export function givenPaths({ steps }: Understanding): string[] {
  return steps.flatMap(stepPaths);
}

/** Every path a call is about, as the upstream reads it. */
export function pathsOf({ steps, place }: Understanding): string[] {
  const paths: string[] = [];
  for (const step of steps) for (const path of stepPaths(step)) paths.push(place(path));
  return paths;
}

function stepPaths(step: Step): readonly string[] {
  switch (step.does) {
    case 'look':
    case 'list':
    case 'read':
      return [step.path];
    case 'change':
      return step.intent.kind === 'move' ? [step.intent.source, step.intent.destination] : [step.intent.path];
    case 'run':
    case 'unknown':
      return [];
    default:
      return step satisfies never;
  }
}

/** The changes a call will make, with their paths as the upstream reads them. */
export function intentsOf({ steps, place }: Understanding): ForeignIntent[] {
  return steps.flatMap((step): ForeignIntent[] => {
    if (step.does !== 'change') return [];
    const { intent } = step;
    if (intent.kind !== 'move') return [{ ...intent, path: place(intent.path) }];
    return [{ ...intent, source: place(intent.source), destination: place(intent.destination) }];
  });
}

/** What a call is about to do to a path, as the upstream reads it. */
export function actionAt({ steps, place }: Understanding, path: string): Action {
  for (const step of steps) {
    if (step.does !== 'change' || !stepPaths(step).some((given) => place(given) === path)) continue;
    const { kind } = step.intent;
    if (kind === 'write') return 'overwrite';
    return kind === 'touch' ? 'edit' : kind;
  }
  return 'read';
}

export function readsOf({ steps }: Understanding): ReadStep[] {
  return steps.filter((step) => step.does === 'read');
}

export function changes({ steps }: Understanding): boolean {
  return steps.some((step) => step.does === 'change');
}

export function reads({ steps }: Understanding): boolean {
  return steps.some((step) => step.does === 'read');
}

/** What the journal calls something that ran and may have changed anything; undefined: nothing such. */
export function commandOf({ steps, unexplained }: Understanding, tool: string): string | undefined {
  const run = steps.find((step) => step.does === 'run');
  if (run !== undefined) return `${tool}: ${run.command}`;
  return unexplained ? tool : undefined;
}
