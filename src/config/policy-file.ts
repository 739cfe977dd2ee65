import { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import { BYPASS_PARTS, POLICY_FIELDS, type PolicyField, PRESET_FIELD, PROXY_FIELD } from './policy-fields.ts';

/** Single fields of a policy; `journal`, `images`, `commands` and `hooks` by their own fields. */
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
export interface ProxySettings {
  readonly unknownTools?: 'allow' | 'deny' | 'ask';
  readonly receipts?: boolean;
  /** The user's own tables, not checked yet: only the proxy knows their shape. */
  readonly servers?: readonly unknown[];
}

const TOP: Readonly<Record<string, PolicyField>> = {
  preset: PRESET_FIELD,
  proxy: PROXY_FIELD,
  ...POLICY_FIELDS,
};

/**
 * Reads the text of a `lookfirst.json`: a JSON object of policy fields, `preset`, and `$schema` for editors.
 * Anything else in it is a Fault CONFIG_INVALID. It names the place, the expected value and, for an unknown key, the nearest
 * known one. A setting that is silently ignored would be a guard that is silently off.
 */
export function parsePolicyFile(text: string, name: string = 'lookfirst.json'): PolicyFile {
  const value = parseJson(text, name);
  if (!isRecord(value)) throw invalid(name, `must be an object, not ${describe(value)}`);
  const { $schema: _, ...settings } = value;
  checkFields(settings, { fields: TOP, name, prefix: '' });
  // Every field has just been checked against the table, which has the policy's own keys and values.
  const { preset, proxy, ...overrides } = settings as PolicyOverrides & Omit<PolicyFile, 'overrides'>;
  return {
    ...(preset === undefined ? {} : { preset }),
    ...(proxy === undefined ? {} : { proxy }),
    overrides,
  };
}

/**
 * Checks settings from a program like those of a file. An `undefined` setting counts as absent: the preset's value holds.
 */
export function checkOverrides(value: unknown, name: string): PolicyOverrides {
  if (!isRecord(value)) throw invalid(name, `must be an object, not ${describe(value)}`);
  const settings = present(value);
  checkFields(settings, { fields: POLICY_FIELDS, name, prefix: '' });
  // Every field has just been checked against the table, which has the policy's own keys and values.
  return settings as PolicyOverrides;
}

function present(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
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

interface Scope {
  readonly fields: Readonly<Record<string, PolicyField>>;
  readonly name: string;
  /** Dotted path of the object being checked, with its dot. */
  readonly prefix: string;
}

function checkFields(settings: Readonly<Record<string, unknown>>, scope: Scope): void {
  for (const [key, value] of Object.entries(settings)) {
    const field = Object.hasOwn(scope.fields, key) ? scope.fields[key] : undefined;
    if (field === undefined) throw unknownKey(key, scope);
    checkValue(value, field, { ...scope, prefix: `${scope.prefix}${key}` });
  }
}

function checkValue(value: unknown, field: PolicyField, scope: Scope): void {
  if (field.kind === 'object' && isRecord(value)) {
    checkFields(value, { fields: field.fields, name: scope.name, prefix: `${scope.prefix}.` });
    return;
  }
  if (!fits(value, field))
    throw invalid(scope.name, `"${scope.prefix}" must be ${expected(field)}, not ${describe(value)}`);
}

function fits(value: unknown, field: PolicyField): boolean {
  switch (field.kind) {
    case 'choice':
      return typeof value === 'string' && field.values.includes(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value) && value >= field.min;
    case 'globs':
      return Array.isArray(value) && value.every(isGlob);
    case 'bypass':
      return Array.isArray(value) && value.every((rule) => isGlob(rule) || isBypassRule(rule));
    case 'list':
      return Array.isArray(value);
    case 'object':
      return false;
    default:
      return field satisfies never;
  }
}

function isGlob(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0;
}

/** A rule without any part would exempt everything. */
function isBypassRule(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const parts = Object.entries(value);
  const isPart = ([name, globs]: [string, unknown]): boolean =>
    BYPASS_PARTS.some((part) => part === name) &&
    Array.isArray(globs) &&
    globs.length > 0 &&
    globs.every(isGlob);
  return parts.length > 0 && parts.every(isPart);
}

function expected(field: PolicyField): string {
  switch (field.kind) {
    case 'choice':
      return `one of ${field.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number of at least ${field.min}`;
    case 'globs':
      return 'an array of glob patterns';
    case 'bypass':
      return `an array of globs and of objects with ${BYPASS_PARTS.join(', ')}, each an array of globs`;
    case 'list':
      return 'an array';
    case 'object':
      return `an object with ${Object.keys(field.fields).join(', ')}`;
    default:
      return field satisfies never;
  }
}

function unknownKey(key: string, scope: Scope): Fault {
  const known = nearestName(key, Object.keys(scope.fields));
  const hint = known === undefined ? '' : `; did you mean "${scope.prefix}${known}"?`;
  return invalid(scope.name, `unknown key ${quote(`${scope.prefix}${key}`)}${hint}`);
}

function invalid(name: string, problem: string): Fault {
  return new Fault('CONFIG_INVALID', `${name}: ${problem}`, { path: name });
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (isRecord(value)) return 'an object';
  return quote(value);
}

/** A value as JSON, bounded: a policy file may hold anything. */
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
