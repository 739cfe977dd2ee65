import { isRecord } from '../model/record.ts';
import type { Shape } from '../model/shape.ts';
import { POLICY_FIELDS, PRESET, PRESET_RULES } from './policy-shape.ts';
import { PRESETS } from './presets.ts';
import { type PolicySources, resolvePolicy } from './resolve-policy.ts';

/** The source of a setting's value. */
export type Origin = 'flag' | 'environment' | 'file' | 'preset' | 'default';

/** A setting with the value that is in force. */
export interface Setting {
  /** The setting's name. Settings of a group have dotted names, as in `journal.quotaBytes`. */
  readonly key: string;
  readonly value: unknown;
  readonly origin: Origin;
  readonly meaning: string;
}

/** Every setting of the policy that results from these sources, in the order of `settingShapes`. */
export function policySettings(sources: PolicySources): Setting[] {
  const policy = resolvePolicy(sources);
  const { flags = {}, file } = sources;
  const flagged = sources.preset === undefined ? flags : { ...flags, preset: sources.preset };
  const filed = file?.preset === undefined ? file?.overrides : { ...file.overrides, preset: file.preset };
  return settingShapes().map(([key, { description: meaning = '' }]) => {
    const value = valueAt(policy, key);
    const origin = (): Origin => {
      if (valueAt(flagged, key) !== undefined) return 'flag';
      if (valueAt(filed, key) !== undefined) return 'file';
      const isDefault = JSON.stringify(value) === JSON.stringify(valueAt(PRESETS.default, key));
      return isDefault ? 'default' : 'preset';
    };
    return { key, value, origin: origin(), meaning };
  });
}

/** The dotted name and the shape of every setting; the rules of a preset come last. */
export function settingShapes(): readonly (readonly [string, Shape])[] {
  const fields: Readonly<Record<string, Shape>> = { preset: PRESET, ...POLICY_FIELDS };
  const ruleOf = ([name]: readonly [string, Shape]) => (isPresetRule(name) ? 1 : 0);
  const ordered = Object.entries(fields).sort((a, b) => ruleOf(a) - ruleOf(b));
  return ordered.flatMap(([name, shape]): (readonly [string, Shape])[] =>
    shape.type === 'object'
      ? Object.entries(shape.properties).map(([inner, each]) => [`${name}.${inner}`, each])
      : [[name, shape]],
  );
}

/** True for a setting that only presets set. */
export function isPresetRule(key: string): boolean {
  return PRESET_RULES.some((rule) => rule === key);
}

function valueAt(settings: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), settings);
}
