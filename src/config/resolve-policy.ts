import { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import { type Policy, PRESET_NAMES, type PresetName } from '../model/policy.ts';
import { checkOverrides, type PolicyFile, type PolicyOverrides } from './policy-file.ts';
import { PRESETS } from './presets.ts';

/** The sources of settings. `flags` and `preset` come from the command line and the environment. */
export interface PolicySources {
  readonly preset?: PresetName | undefined;
  readonly file?: PolicyFile | undefined;
  readonly flags?: PolicyOverrides | undefined;
}

/**
 * Resolves one complete policy: the preset, then the file's fields, then the flags, which are checked like the
 * file's. A `protected` list adds to the preset's list; `!GLOB` removes one of the preset's globs. If a list replaced
 * the preset's, a user who protects one more path would unprotect the private keys.
 */
export function resolvePolicy(sources: PolicySources = {}): Policy {
  const preset = presetOf(sources.preset ?? sources.file?.preset ?? 'default');
  const flags = sources.flags === undefined ? undefined : checkOverrides(sources.flags);
  return override(override(preset, sources.file?.overrides), flags);
}

/** The library passes preset names unchecked, so they are checked here. */
function presetOf(name: string): Policy {
  const known = PRESET_NAMES.find((one) => one === name);
  if (known !== undefined) return PRESETS[known];
  const near = nearestName(String(name), PRESET_NAMES);
  const hint = near === undefined ? `known are ${PRESET_NAMES.join(', ')}` : `did you mean "${near}"?`;
  throw new Fault('CONFIG_INVALID', `there is no preset ${JSON.stringify(name)}; ${hint}`);
}

function override(policy: Policy, overrides: PolicyOverrides | undefined): Policy {
  if (overrides === undefined) return policy;
  const { journal, images, commands, hooks, protected: globs, ...fields } = overrides;
  return {
    ...policy,
    ...fields,
    protected: globs === undefined ? policy.protected : adjustGlobs(policy.protected, globs),
    journal: { ...policy.journal, ...journal },
    images: { ...policy.images, ...images },
    commands: { ...policy.commands, ...commands },
    hooks: { ...policy.hooks, ...hooks },
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
  const known = nearestName(change.slice(1), base);
  const hint = known === undefined ? '' : `; did you mean "!${known}"?`;
  return new Fault(
    'CONFIG_INVALID',
    `protected: "${change}" removes a glob that the preset does not have${hint}`,
  );
}
