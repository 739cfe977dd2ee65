import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.ts';
import { compiledSources } from './test/support/compiled-sources.ts';

/** Tests whose result may depend on the file system. The others make their folders in memory, if possible. */
const ABOUT_DISKS = [
  'src/{disk,gate,journal,lock,process,store,workspace}/**/*.test.ts',
  'test/{containment,kept,store,undo}/**/*.test.ts',
];
/** Tests that install hundreds of megabytes of packages. Only `npm run test:matrix` runs them. */
const WITH_LARGE_TOOLS = [
  'test/{adapters,conformance,servers,tokens}/*.test.ts',
  'test/package/{examples,install}.test.ts',
];
const INSTALLED = ['**/node_modules/**'];

const plugins = compiledSources();
const shared: ViteUserConfig['test'] = {
  server: { deps: { external: [/\/build\/.*\.js$/] } },
  // Test files share their modules, which keep no state. Loading the modules again would take a
  // second per file, longer than most tests.
  isolate: false,
  // Allow much time, because some machines are slow or busy. Only a result that never arrives is
  // a failure.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  // A poll cannot know that the process it waits for has ended, so it stops after a minute.
  expect: { poll: { timeout: 60_000 } },
};

const config: ViteUserConfig = defineConfig({
  test: {
    // The projects do not extend this object: each would then prepare the test run once more.
    projects: [
      { plugins, test: { ...shared, name: 'disk', include: ABOUT_DISKS, exclude: INSTALLED } },
      {
        plugins,
        test: {
          ...shared,
          name: 'memory',
          include: ['{src,test}/**/*.test.ts'],
          exclude: [...ABOUT_DISKS, ...WITH_LARGE_TOOLS, 'test/attack/**', ...INSTALLED],
          setupFiles: ['test/support/in-memory.ts'],
        },
      },
      { plugins, test: { ...shared, name: 'large-tools', include: WITH_LARGE_TOOLS } },
    ],
    globalSetup: ['test/support/test-run.ts'],
    pool: 'forks',
    // Most tests wait for processes of their own, so three more workers than processors keep a small machine busy.
    maxWorkers: availableParallelism() + 3,
    reporters: ['default', new ClosingLine()],
  },
});
export default config;
