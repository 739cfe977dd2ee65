import type { Reporter, TestModule } from 'vitest/node';

/** The number of slowest files that the end of a run names. */
const SLOWEST = 10;

/** Ends a run with its slowest files, and with one line for scripts: `N passed, N failed`. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0;
    let failed = errors.length;
    for (const module of modules) {
      let any = false;
      for (const test of module.children.allTests()) {
        any = true;
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        if (state === 'failed') failed += 1;
      }
      if (!any && module.state() === 'failed') failed += 1;
    }
    process.stdout.write(`\n${slowest(modules)}\n${passed} passed, ${failed} failed\n`);
  }
}

function slowest(modules: readonly TestModule[]): string {
  const timed = modules.map((module) => ({
    seconds: module.diagnostic().duration / 1000,
    name: module.relativeModuleId,
  }));
  const rows = timed
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ seconds, name }) => `${seconds.toFixed(1).padStart(8)} s  ${name}\n`);
  return rows.length < 2 ? '' : `Slowest files:\n${rows.join('')}`;
}
