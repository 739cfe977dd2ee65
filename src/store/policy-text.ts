import { readFileSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';

/**
 * The text of a policy file, or undefined if there is none. A file that exists but cannot be read is a Fault
 * CONFIG_INVALID: ignoring it would switch off its rules.
 */
export function readPolicyText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    const why = errnoOf(error) ?? String(error);
    throw new Fault('CONFIG_INVALID', `the policy file ${path} cannot be read (${why})`, {
      cause: error,
      path,
    });
  }
}
