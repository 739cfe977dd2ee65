import { Fault } from '../model/fault.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import { nearest } from './nearest.ts';
import type { PolicyFile, PolicyOverrides } from './policy-file.ts';
import { PRESETS } from './presets.ts';

/** Where settings come from. `flags` and `preset` hold what the command line and the environment said. */
export interface PolicySources {
  readonly preset?: PresetName | undefined;
  readonly file?: PolicyFile | undefined;
  readonly flags?: PolicyOverrides | undefined;
}

/**
 * One complete policy: a preset, then the file's fields, then the flags.
 * `protected` only ever grows: a list adds to the preset's, and `!GLOB` takes one of the preset's globs away by name. A list
 * that replaced the preset's would unprotect private keys by protecting something else.
 */
export function resolvePolicy(sources: PolicySources = {}): Policy {
  const preset = PRESETS[sources.preset ?? sources.file?.preset ?? 'default'];
  return override(override(preset, sources.file?.overrides), sources.flags);
}

function override(policy: Policy, overrides: PolicyOverrides | undefined): Policy {
  if (overrides === undefined) return policy;
  const { journal, protected: globs, ...fields } = overrides;
  return {
    ...policy,
    ...fields,
    protected: globs === undefined ? policy.protected : adjustGlobs(policy.protected, globs),
    journal: { ...policy.journal, ...journal },
  };
}

function adjustGlobs(base: readonly string[], changes: readonly string[]): readonly string[] {
  const globs = new Set(base);
  for (const change of changes) {
    if (!change.startsWith('!')) globs.add(change);
    else if (!globs.delete(change.slice(1))) throw nothingTaken(change, base);
  }
  return [...globs];
}

function nothingTaken(change: string, base: readonly string[]): Fault {
  const known = nearest(change.slice(1), base);
  const hint = known === undefined ? '' : `; did you mean "!${known}"?`;
  return new Fault('CONFIG_INVALID', `protected: "${change}" takes away a glob that is not there${hint}`);
}
