import { type Interpretation, interpret } from '../dialect/calls/interpret.ts';
import type { Arguments } from '../dialect/calls/rule-scope.ts';
import { pathsOfTouch } from '../dialect/calls/touch.ts';
import type { ForeignIntent } from '../model/intent.ts';
import type { Action } from '../model/verdict.ts';
import type { Catalogue } from './catalogue.ts';
import { upstreamPath } from './paths.ts';

/** What a call will do, how certain that is, and which files it means. */
export interface Understanding extends Interpretation {
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
  const tool = catalogue.traitsOf(call.tool);
  return { ...interpret({ tool, args: call.args }, catalogue.rulesOf(call.tool)), place };
}

/** Every path a call is about, as the caller wrote it. */
export function givenPaths({ touches }: Understanding): string[] {
  return touches.flatMap(pathsOfTouch);
}

/** Every path a call is about, as the upstream reads it. */
export function pathsOf({ touches, place }: Understanding): string[] {
  const paths: string[] = [];
  for (const touch of touches) for (const path of pathsOfTouch(touch)) paths.push(place(path));
  return paths;
}

/** The changes a call will make, with their paths as the upstream reads them. */
export function intentsOf({ touches, place }: Understanding): ForeignIntent[] {
  return touches.flatMap((touch): ForeignIntent[] => {
    if (touch.does !== 'change') return [];
    const { intent } = touch;
    if (intent.kind !== 'move') return [{ ...intent, path: place(intent.path) }];
    return [{ ...intent, source: place(intent.source), destination: place(intent.destination) }];
  });
}

/** What a call is about to do to a path, as the upstream reads it. */
export function actionAt({ touches, place }: Understanding, path: string): Action {
  for (const touch of touches) {
    if (touch.does !== 'change' || !pathsOfTouch(touch).some((given) => place(given) === path)) continue;
    const { kind } = touch.intent;
    if (kind === 'write') return 'overwrite';
    return kind === 'touch' ? 'edit' : kind;
  }
  return 'read';
}

export function changes({ touches }: Understanding): boolean {
  return touches.some((touch) => touch.does === 'change');
}

export function reads({ touches }: Understanding): boolean {
  return touches.some((touch) => touch.does === 'read');
}

/** What the journal calls something that ran and may have changed anything; undefined: nothing such. */
export function commandOf({ touches, unexplained }: Understanding, tool: string): string | undefined {
  const run = touches.find((touch) => touch.does === 'run');
  if (run !== undefined) return `${tool}: ${run.command}`;
  return unexplained ? tool : undefined;
}
