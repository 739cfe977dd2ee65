import type { PolicyOverrides } from '../config/policy-file.ts';
import { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import type { PresetName } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { WorldOptions } from './open-world.ts';

/** Options for opening a workspace. */
export interface WorkspaceOptions extends Omit<WorldOptions, 'policy'> {
  /** The folder inside a root where the sessions' relative paths start. Default: the first root. */
  readonly cwd?: string | undefined;
  readonly preset?: PresetName | undefined;
  /** Settings that override those of the preset. */
  readonly policy?: PolicyOverrides | undefined;
  /** Text of a policy file (`lookfirst.json`). Its settings override the preset, and `policy` overrides them. */
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
 * Throws a Fault MISUSE unless the options are an object with known fields only. A misspelt option that is ignored
 * would silently switch a guard off. Values are checked where they are used.
 */
export function checkOpening(options: unknown, more: readonly string[] = []): void {
  if (!isRecord(options)) throw new Fault('MISUSE', 'the options for opening must be an object with roots');
  const known = [...Object.keys(KNOWN), ...more];
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue;
    const near = nearestName(key, known);
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    throw new Fault('MISUSE', `there is no option ${JSON.stringify(key)}${hint}`);
  }
}
