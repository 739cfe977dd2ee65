import type { UserTable } from '../dialect/calls/user-table.ts';
import { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import { type Policy, PRESET_NAMES, type PresetName } from '../model/policy.ts';
import { defined, isRecord, type JsonRecord } from '../model/record.ts';
import { checkShape, mismatchText, type ObjectShape } from '../model/shape.ts';
import { globProblem } from '../text/glob/glob.ts';
import { parseSettings, settingPlace } from './json-text.ts';
import { POLICY, POLICY_FILE } from './policy-shape.ts';
import { PRESETS } from './presets.ts';
import { withoutRemoved } from './removed-settings.ts';

/** The sources of settings. `flags` and `preset` come from the command line and the environment. */
export interface PolicySources {
  readonly preset?: PresetName | undefined;
  readonly file?: PolicyFile | undefined;
  readonly flags?: PolicyOverrides | undefined;
}

/**
 * Resolves one complete policy: flags override the file's fields, and these override the preset. A
 * list in `protected` or `commands.hide` adds to the preset's list, so that a user who protects one
 * more path does not unprotect the private keys. `!ENTRY` removes one of the preset's entries.
 */
export function resolvePolicy(sources: PolicySources = {}): Policy {
  const preset = presetOf(sources.preset ?? sources.file?.preset ?? 'default');
  const flags = sources.flags === undefined ? undefined : checkOverrides(sources.flags);
  return override(override(preset, sources.file?.overrides), flags);
}

/**
 * The policy of a preset. Throws a Fault for an unknown name, which a program that uses the library
 * may pass.
 */
function presetOf(name: string): Policy {
  const known = PRESET_NAMES.find((one) => one === name);
  if (known !== undefined) return PRESETS[known];
  const near = nearestName(String(name), PRESET_NAMES);
  const hint = near === undefined ? `known are ${PRESET_NAMES.join(', ')}` : `did you mean "${near}"?`;
  throw new Fault('CONFIG_INVALID', `there is no preset ${JSON.stringify(name)}; ${hint}`);
}

function override(policy: Policy, overrides: PolicyOverrides | undefined): Policy {
  if (overrides === undefined) return policy;
  const { journal, commands, hooks, protected: globs, ...fields } = overrides;
  mustBeRelative('protected', globs);
  mustBeRelative('approve', fields.approve);
  mustBeUsable([globs, fields.approve, fields.bypass, commands?.scratch, commands?.trust, commands?.hide]);
  return {
    ...policy,
    ...fields,
    protected: adjusted('protected', policy.protected, globs),
    journal: { ...policy.journal, ...journal },
    commands: {
      ...policy.commands,
      ...commands,
      hide: adjusted('commands.hide', policy.commands.hide, commands?.hide),
    },
    hooks: { ...policy.hooks, ...hooks },
  };
}

/** Throws a Fault for a glob that would match no path, because paths are relative to their root. */
function mustBeRelative(setting: string, globs: readonly string[] = []): void {
  const wrong = globs.find((glob) => /^!?(?:[~\\]|[a-z]:)|(?:^|[/\\])\.\.(?:$|[/\\])/i.test(glob));
  if (wrong === undefined) return;
  const reason = `${setting}: "${wrong}" must be relative to the workspace folder, such as "src/a.ts" or "**/*.pem"`;
  throw new Fault('CONFIG_INVALID', reason);
}

/** Throws a Fault for a glob that no matcher can be made of. */
function mustBeUsable(lists: readonly (Policy['bypass'] | undefined)[]): void {
  for (const glob of lists.flatMap((list) => list ?? [])) {
    const globs = typeof glob === 'string' ? [glob] : Object.values(glob).flat();
    for (const one of globs) {
      const problem = globProblem(one);
      if (problem !== undefined)
        throw new Fault('CONFIG_INVALID', `the glob "${one}" cannot be used: ${problem}`);
    }
  }
}

/** The list of a setting with entries added, or removed by `!ENTRY`. */
function adjusted(
  setting: string,
  base: readonly string[],
  changes: readonly string[] = [],
): readonly string[] {
  const list = new Set(base);
  for (const change of changes) {
    if (!change.startsWith('!')) list.add(change);
    else if (!list.delete(change.slice(1))) throw nothingTaken(setting, change, base);
  }
  return [...list];
}

function nothingTaken(setting: string, change: string, base: readonly string[]): Fault {
  const known = nearestName(change.slice(1), base);
  const hint = known === undefined ? '' : `; did you mean "!${known}"?`;
  return new Fault(
    'CONFIG_INVALID',
    `${setting}: "${change}" removes an entry that the preset does not have${hint}`,
  );
}

/** Settings that differ from the preset. The groups `journal`, `commands` and `hooks` may also be partial. */
export type PolicyOverrides = Partial<Omit<Policy, 'preset' | 'journal' | 'commands' | 'hooks'>> & {
  readonly journal?: Partial<Policy['journal']>;
  readonly commands?: Partial<Policy['commands']>;
  readonly hooks?: Partial<Policy['hooks']>;
};

/** The content of a policy file. */
interface PolicyFile {
  readonly preset?: PresetName;
  readonly overrides: PolicyOverrides;
  readonly proxy?: ProxySettings;
  /** One for each setting that no longer exists. */
  readonly warnings: readonly string[];
}

/** The proxy's settings in a policy file. */
interface ProxySettings {
  readonly unknownTools?: 'allow' | 'deny' | 'ask';
  /** The user's own descriptions of MCP servers: what their tools do to files. */
  readonly servers?: readonly UserTable[];
}

/**
 * Parses the text of a `lookfirst.json`: policy fields, `preset`, `proxy`, and `$schema` for
 * editors. Any other key or a wrong value is a Fault. If Lookfirst ignored a misspelt setting, a
 * check that the user wanted would be off.
 */
export function parsePolicyFile(text: string, name: string = 'lookfirst.json'): PolicyFile {
  if (typeof text !== 'string')
    throw new Fault('CONFIG_INVALID', `${name} must be given as text`, { path: name });
  const placeOf = (key: string) => `${name}:${settingPlace(text, key)}`;
  const { settings: value, warnings } = withoutRemoved(parseSettings(text, name), placeOf);
  checkSettings(POLICY_FILE, value, placeOf);
  // The cast is safe: `checkSettings` has checked all keys and values.
  const settings = value as PolicyOverrides & Omit<PolicyFile, 'overrides'> & { readonly $schema?: string };
  const { $schema: _, preset, proxy, ...overrides } = settings;
  return { ...defined({ preset, proxy }), overrides, warnings };
}

/**
 * Checks settings that come from a program, by the same rules as the settings in a policy file.
 * Drops `undefined` settings, so that the preset's values stay.
 */
function checkOverrides(value: unknown): PolicyOverrides {
  checkSettings(POLICY, value, () => 'policy');
  // The cast is safe: `checkSettings` has checked all keys and values.
  return present(value as JsonRecord) as PolicyOverrides;
}

/** `placeOf` names the place of a key, for the message. */
function checkSettings(shape: ObjectShape, value: unknown, placeOf: (key: string) => string): void {
  const [first, ...more] = checkShape(shape, value);
  if (first === undefined) return;
  const text = mismatchText(first, { noun: 'key', whole: 'the settings' });
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  const place = placeOf(first.path);
  throw new Fault('CONFIG_INVALID', `${place}: ${text}${others}`, { path: place });
}

function present(value: JsonRecord): Record<string, unknown> {
  const there = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(there.map(([key, one]) => [key, isRecord(one) ? present(one) : one]));
}
