import { Fault } from '../model/fault.ts';

/**
 * The token in `LOOKFIRST_TOKEN`, if it is set. It must be printable ASCII, because a header
 * carries no other characters unchanged.
 */
export function givenToken(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const token = env['LOOKFIRST_TOKEN'] || undefined;
  if (token !== undefined && !/^[!-~]+$/.test(token))
    throw new Fault('CONFIG_INVALID', 'LOOKFIRST_TOKEN must be ASCII without blanks');
  return token;
}

/** The line about a given token. It does not contain the token: the user knows it, and logs are no place for secrets. */
export function tokenLine(token: string, given: string | undefined): string {
  return `token: ${given === undefined ? token : 'that of LOOKFIRST_TOKEN'}`;
}
