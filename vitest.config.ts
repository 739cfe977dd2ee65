import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      // Modules keep no state, so the files beside the source can share them. Loading them anew for each file takes longer
      // than most of these tests.
      { extends: true, test: { name: 'units', include: ['src/**/*.test.ts'], isolate: false } },
      {
        extends: true,
        test: {
          name: 'doors',
          include: ['test/**/*.test.ts'],
          exclude: ['test/attack/**', '**/node_modules/**'],
        },
      },
    ],
    globalSetup: ['test/support/compiled-code.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Slow machines take longer; only a result that never arrives is a failure.
    expect: { poll: { timeout: 30_000 } },
    // Most tests wait for processes of their own, so one more worker than processors keeps a small machine busy.
    maxWorkers: availableParallelism() + 1,
    reporters: ['default', new ClosingLine()],
  },
});
export default config;
