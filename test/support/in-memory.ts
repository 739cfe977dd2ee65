// Lets the tests of the project `memory` make their folders in memory, if test-run.ts found room there.
const { TEST_MEMORY } = process.env;
if (TEST_MEMORY !== undefined) process.env['TMPDIR'] = TEST_MEMORY;
