/** The oldest Node that Lookfirst supports, as `engines` in package.json says. */
const OLDEST = [20, 19] as const;

/** The sentence for a user whose Node is too old for Lookfirst; undefined if it is new enough. */
export function whyNodeIsTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  return isNewEnough ? undefined : `Lookfirst needs Node ${OLDEST.join('.')} or later; this is ${version}`;
}
