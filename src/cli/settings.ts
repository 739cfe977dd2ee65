import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { policyFilePath, stateFolder } from '../config/home.ts';
import { parsePolicyFile } from '../config/policy-file.ts';
import { resolvePolicy } from '../config/resolve-policy.ts';
import { Fault } from '../model/fault.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import { readPolicyText } from '../store/policy-text.ts';
import type { Cli } from './cli.ts';

/** Flags that say where the state is and which policy holds. */
export interface StateFlags {
  readonly store?: string;
  readonly preset?: PresetName;
  /** A policy file; default `lookfirst.json` beside the state. */
  readonly policy?: string;
  readonly readOnly?: boolean;
}

/** Where the state is. */
export interface Places {
  readonly home: string;
  readonly store: string;
}

type Surroundings = Pick<Cli, 'env' | 'platform' | 'cwd'>;

/** The state folder and the store: flags win over the environment, the environment over the platform's place. */
export function placesOf(cli: Surroundings, flags: StateFlags): Places {
  const { env, platform } = cli;
  const home = stateFolder({ platform, env, homeFolder: homedir() });
  return { home, store: flags.store || env['LOOKFIRST_STORE'] || `sqlite:${join(home, 'lookfirst.db')}` };
}

/** The text of the policy file in force, if there is one. One that was named has to be there. */
export function policyTextOf(cli: Surroundings, flags: StateFlags): string | undefined {
  if (flags.policy === undefined)
    return readPolicyText(policyFilePath(placesOf(cli, flags).home, cli.platform));
  const path = resolve(cli.cwd, flags.policy);
  const text = readPolicyText(path);
  if (text === undefined) throw new Fault('CONFIG_INVALID', `there is no policy file ${path}`, { path });
  return text;
}

/** One complete policy from flags and file. */
export function policyOf(cli: Surroundings, flags: StateFlags): Policy {
  const text = policyTextOf(cli, flags);
  return resolvePolicy({
    preset: flags.preset,
    file: text === undefined ? undefined : parsePolicyFile(text, flags.policy),
    flags: flags.readOnly === true ? { readOnly: true } : undefined,
  });
}
