/** True where `npm run attack` runs a test of `npm test`, with all its rounds and cases. */
export const IS_LONG: boolean = process.env['LOOKFIRST_ATTACK'] === 'long';

/** The number of rounds of a test: few in `npm test`, and all of them where `npm run attack` runs the same test. */
export function rounds(few: number, all: number): number {
  return IS_LONG ? all : few;
}

/** The cases of a test: every second one in `npm test`, and all of them where `npm run attack` runs the same test. */
export function everySecond<const Case extends readonly unknown[]>(cases: readonly Case[]): readonly Case[] {
  return cases.filter((_, at) => at % 2 === 0 || IS_LONG);
}
