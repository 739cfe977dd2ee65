// Compiles src/ to dist/, then bundles the command into dist/bin/: one file to load instead of hundreds makes a cold start short.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { rolldown } from 'rolldown';

execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = Object.keys({ ...dependencies, ...optionalDependencies });
const bundle = await rolldown({
  input: { lookfirst: 'dist/main.js' },
  platform: 'node',
  // Dependencies stay what npm installed; only our own modules are put together.
  external: (id) =>
    id.startsWith('node:') || packages.some((name) => id === name || id.startsWith(`${name}/`)),
});
await bundle.write({ dir: 'dist/bin', format: 'esm', chunkFileNames: '[name].js' });
await bundle.close();
chmodSync('dist/bin/lookfirst.js', 0o755);
