import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { errnoOf } from '../model/errno.ts';

/** As many as the system follows. */
const MAX_LINKS = 40;

/** Where an absolute path leads, and the links that are followed on the way, each at its canonical place. */
export interface LinksOn {
  readonly target: string;
  readonly links: readonly string[];
}

/** Follows a path component by component. What is missing or cannot be looked at keeps its name. */
export function linksOn(path: string): LinksOn {
  const links: string[] = [];
  let current = parse(resolve(path)).root;
  let rest = partsOf(path);
  for (let [name] = rest; name !== undefined; [name] = rest) {
    rest = rest.slice(1);
    const next = join(current, name);
    const target = links.length < MAX_LINKS ? linkTarget(next) : undefined;
    if (target === undefined) {
      current = next;
      continue;
    }
    links.push(next);
    const full = resolve(dirname(next), target);
    rest = [...partsOf(full), ...rest];
    current = parse(full).root;
  }
  return { target: current, links };
}

function partsOf(path: string): string[] {
  const full = resolve(path);
  return full
    .slice(parse(full).root.length)
    .split(sep)
    .filter((part) => part !== '');
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** How many names a file has; 0 for one that is not there. */
export function linkCount(file: string): number {
  return lstatSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
}
