/** The number of rounds of a test: few in `npm test`, and all of them where `npm run attack` runs the same test. */
export function rounds(few: number, all: number): number {
  return process.env['LOOKFIRST_ATTACK'] === 'long' ? all : few;
}
