import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/attack/**', '**/node_modules/**'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', new ClosingLine()],
  },
});
export default config;
