import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/attack/**', '**/node_modules/**'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for takes as long as the machine takes: only what never comes is a failure.
    expect: { poll: { timeout: 30_000 } },
    // Most tests wait for processes of their own: one worker less than processors would leave a small machine idle.
    maxWorkers: '100%',
    reporters: ['default', new ClosingLine()],
  },
});
export default config;
