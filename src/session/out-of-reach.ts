import { Fault } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import { linkCount, linksOn } from '../workspace/walk.ts';

/**
 * Ensures that an agent cannot replace the state folder. Throws a Fault CONFIG_INVALID in three
 * cases: the path of the state folder passes through a link inside a root, it leads into a root
 * through a link, or the state folder contains a root. A state folder inside a root is allowed
 * otherwise: it is protected there.
 */
export function keepStateOutOfReach(roots: readonly string[], given: string): void {
  const { target, links } = mustNotPassThrough(roots, 'state folder', given);
  const inside = roots.find((root) => isWithin(root, target));
  if (inside !== undefined)
    throw new Fault(
      'CONFIG_INVALID',
      `the folder ${inside} lies in the state folder ${target}: move one of them`,
      { path: given, reason: 'in-state' },
    );
  if (links.length > 0 && roots.some((root) => isWithin(target, root)))
    throw invalid(given, `the state folder ${given} is a link into the workspace: name a folder outside`);
}

/**
 * Ensures that an agent cannot change the policy file. Throws a Fault CONFIG_INVALID in three
 * cases: the file's path passes through a link inside a root, the file has a hard link, or it lies
 * in a root but not in the state folder. In the state folder, the file is protected.
 */
export function keepPolicyOutOfReach(
  {
    workspace: { roots },
    home,
  }: { readonly workspace: { readonly roots: readonly string[] }; readonly home: string },
  file: string,
): void {
  const { target } = mustNotPassThrough(roots, 'policy file', file);
  if (!isWithin(target, home) && roots.some((root) => isWithin(target, root)))
    throw invalid(
      file,
      `the policy file ${file} lies in the workspace, where the agent could change it: keep it elsewhere`,
    );
  if (linkCount(target) > 1)
    throw invalid(
      file,
      `the policy file ${file} has another name (a hard link) that could be written: copy it`,
    );
}

function mustNotPassThrough(
  roots: readonly string[],
  what: string,
  path: string,
): ReturnType<typeof linksOn> {
  const walked = linksOn(path);
  const link = walked.links.find((each) => roots.some((root) => isWithin(each, root)));
  if (link !== undefined)
    throw invalid(path, `the ${what} ${path} is reached through ${link}, a link that the agent could change`);
  return walked;
}

function invalid(path: string, message: string): Fault {
  return new Fault('CONFIG_INVALID', message, { path, reason: 'reach' });
}
