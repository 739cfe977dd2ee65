import type { UserTable } from '../dialect/calls/user-table.ts';
import { Fault } from '../model/fault.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import { defined, isRecord, type JsonRecord } from '../model/record.ts';
import { checkShape, mismatchText, type ObjectShape } from '../model/shape.ts';
import { POLICY, POLICY_FILE } from './policy-shape.ts';

/** Settings that differ from the preset. The groups `journal`, `images`, `commands` and `hooks` may also be partial. */
export type PolicyOverrides = Partial<
  Omit<Policy, 'preset' | 'journal' | 'images' | 'commands' | 'hooks'>
> & {
  readonly journal?: Partial<Policy['journal']>;
  readonly images?: Partial<Policy['images']>;
  readonly commands?: Partial<Policy['commands']>;
  readonly hooks?: Partial<Policy['hooks']>;
};

/** The content of a policy file. */
export interface PolicyFile {
  readonly preset?: PresetName;
  readonly overrides: PolicyOverrides;
  readonly proxy?: ProxySettings;
}

/** The proxy's settings in a policy file. */
interface ProxySettings {
  readonly unknownTools?: 'allow' | 'deny' | 'ask';
  readonly receipts?: boolean;
  /** The user's own tables of servers. */
  readonly servers?: readonly UserTable[];
}

/**
 * Reads the text of a `lookfirst.json`: a JSON object of policy fields, `preset`, and `$schema` for editors. Anything
 * else in the file is a Fault CONFIG_INVALID, because a setting that is silently ignored would be a guard that is
 * silently off. The fault names the setting, the expected value and, for an unknown key, the nearest known one.
 */
export function parsePolicyFile(text: string, name: string = 'lookfirst.json'): PolicyFile {
  const value = parseJson(text, name);
  checkSettings(POLICY_FILE, value, name);
  // The cast is safe: the shape has the policy's keys and values.
  const settings = value as PolicyOverrides & Omit<PolicyFile, 'overrides'> & { readonly $schema?: string };
  const { $schema: _, preset, proxy, ...overrides } = settings;
  return {
    ...defined({ preset, proxy }),
    overrides,
  };
}

/**
 * Checks settings from a program like those of a file. An `undefined` setting counts as absent and gets the preset's
 * value.
 */
export function checkOverrides(value: unknown): PolicyOverrides {
  checkSettings(POLICY, value, 'policy');
  // The cast is safe: the shape has the policy's keys and values.
  return present(value as JsonRecord) as PolicyOverrides;
}

function checkSettings(shape: ObjectShape, value: unknown, name: string): void {
  const [first, ...more] = checkShape(shape, value);
  if (first === undefined) return;
  const text = mismatchText(first, { noun: 'key', whole: 'the settings' });
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  throw new Fault('CONFIG_INVALID', `${name}: ${text}${others}`, { path: name });
}

function present(value: JsonRecord): Record<string, unknown> {
  const there = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(there.map(([key, one]) => [key, isRecord(one) ? present(one) : one]));
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault('CONFIG_INVALID', `${name} is not JSON: ${why}`, { cause, path: name });
  }
}
