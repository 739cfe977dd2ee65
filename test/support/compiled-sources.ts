import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const project = join(import.meta.dirname, '../..');
const sources = join(project, 'src/');
const compiled = join(project, 'build/');

/** The part of a Vite plugin that is needed here. */
interface Resolver {
  readonly name: string;
  readonly enforce: 'pre';
  resolveId(id: string, importer: string | undefined): string | undefined;
}

/**
 * Lets tests import the compiled modules of `build/` instead of `src/`, if the build is newer than
 * every source. This is faster, because Vite need not transform the sources. A watching run uses
 * the sources, because they change while it runs.
 */
export function compiledSources(): Resolver[] {
  if (!process.argv.includes('run') || !isBuildCurrent()) return [];
  return [
    {
      name: 'compiled-sources',
      enforce: 'pre',
      resolveId(id, importer) {
        if (importer === undefined) return undefined;
        const file = id.startsWith('.') ? resolve(dirname(importer), id) : id;
        return file.startsWith(sources) && isSource(file) ? compiledFile(file) : undefined;
      },
    },
  ];
}

function isBuildCurrent(): boolean {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(sources, name),
  );
  return files.filter(isSource).every((file) => {
    const made = compiledFile(file);
    return existsSync(made) && statSync(made).mtimeMs > statSync(file).mtimeMs;
  });
}

/** True for a module that the build compiles. Modules of the viewer's page are bundled instead. */
function isSource(file: string): boolean {
  return /(?<!\.test|\.d)\.ts$/.test(file) && !file.startsWith(join(sources, 'viewer/page/'));
}

function compiledFile(file: string): string {
  return join(compiled, file.slice(sources.length).replace(/\.ts$/, '.js'));
}
