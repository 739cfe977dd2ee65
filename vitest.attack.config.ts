import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** The long runs: the attacks of the short tests, at the sizes that docs/trust.md quotes. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/attack/**/*.test.ts'],
    globalSetup: ['test/support/test-run.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 3_600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 100_000 } },
    env: { LOOKFIRST_ATTACK: 'long' },
  },
});
export default config;
