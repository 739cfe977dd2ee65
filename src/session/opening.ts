import { nearest } from '../config/nearest.ts';
import type { PolicyOverrides } from '../config/policy-file.ts';
import { Fault } from '../model/fault.ts';
import type { PresetName } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { WorldOptions } from './open-world.ts';

/** How a workspace is opened. */
export interface WorkspaceOptions extends Omit<WorldOptions, 'policy'> {
  /** Where relative paths of sessions start: a folder inside a root. Default: the first root. */
  readonly cwd?: string | undefined;
  readonly preset?: PresetName | undefined;
  /** Single settings over those of the preset. */
  readonly policy?: PolicyOverrides | undefined;
  /** Text of a policy file (`lookfirst.json`); its settings lie between preset and `policy`. */
  readonly policyFile?: string | undefined;
}

const KNOWN: Readonly<Record<keyof WorkspaceOptions, true>> = {
  roots: true,
  readOnlyRoots: true,
  store: true,
  workspace: true,
  sharedWorkspace: true,
  home: true,
  cwd: true,
  preset: true,
  policy: true,
  policyFile: true,
  require: true,
  now: true,
};

/**
 * Options for opening are an object and hold nothing but options, else a Fault MISUSE: a misspelt one that is silently
 * ignored is a guard that is silently off. What they hold is checked by whoever uses it.
 */
export function checkOpening(options: unknown, more: readonly string[] = []): void {
  if (!isRecord(options)) throw new Fault('MISUSE', 'the options for opening must be an object with roots');
  const known = [...Object.keys(KNOWN), ...more];
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    throw new Fault('MISUSE', `there is no option ${JSON.stringify(key)}${hint}`);
  }
}
