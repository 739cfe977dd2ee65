import type { PolicyOverrides } from '../config/policy-file.ts';
import { Fault } from '../model/fault.ts';
import type { PresetName } from '../model/policy.ts';
import { ANY, checkShape, mismatchText, type ObjectShape, objectOf, type Shape } from '../model/shape.ts';
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

const OPTIONS: Readonly<Record<keyof WorkspaceOptions, Shape>> = {
  roots: ANY,
  readOnlyRoots: ANY,
  store: ANY,
  workspace: ANY,
  sharedWorkspace: ANY,
  home: ANY,
  cwd: ANY,
  preset: ANY,
  policy: ANY,
  policyFile: ANY,
  require: ANY,
  now: ANY,
};
/** The options of `openWorkspace`. The code that uses a value checks it. */
export const WORKSPACE_OPTIONS: ObjectShape = objectOf(OPTIONS);
/** The options of `openSession`. */
export const SESSION_OPTIONS: ObjectShape = objectOf({ ...OPTIONS, session: ANY, client: ANY });

/** Throws a Fault MISUSE for unknown options: a misspelt option that is ignored would silently switch a guard off. */
export function checkOpening(shape: ObjectShape, options: unknown): void {
  const [mismatch] = checkShape(shape, options);
  if (mismatch === undefined) return;
  throw new Fault('MISUSE', mismatchText(mismatch, { noun: 'option', whole: 'the options for opening' }));
}
