import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { errnoOf } from '../model/errno.ts';

/** The number of links that the system follows. */
const MAX_LINKS = 40;

/** The target of an absolute path, and the links followed on the way, each with its canonical path. */
export interface LinksOn {
  readonly target: string;
  readonly links: readonly string[];
}

/** Follows a path component by component. A component that is missing or cannot be read keeps its name. */
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

/** The number of hard links to a file; 0 if it does not exist. */
export function linkCount(file: string): number {
  return lstatSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
}
