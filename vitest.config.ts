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
    // Real processes on a machine that others use as well: what fails twice is broken.
    retry: process.env['CI'] === undefined ? 0 : 2,
    reporters: ['default', new ClosingLine()],
  },
});
export default config;
