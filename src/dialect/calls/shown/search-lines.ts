/** Maximum number of files per answer; further ones are ignored. */
const MAX_FILES = 200;

/** `path:12:text` for a match, `path-12-text` for a context line. */
const HIT = /^(.+?)([:-])(\d{1,9})\2(.*)$/;
/** Gemini CLI writes `File: path` above the lines of a file, opencode `path:`. */
const HEADING = /^(?:File: (.+)|(\S.*):)$/;
/** `L12: text` of Gemini CLI, `  Line 12: text` of opencode. */
const LINE = /^ *(?:L|Line )(\d{1,9}): (.*)$/;

/**
 * The lines that a search result shows, by file, each as `12:text`. This is a guess from the formats of several
 * programs, so callers compare every line with the file. `searched`: the searched path, which may be the only file.
 */
export function searchedLines(output: string, searched: string | undefined): ReadonlyMap<string, string> {
  const files = new Map<string, string[]>();
  const add = (path: string, line: string): void => {
    const lines = files.get(path) ?? [];
    if (files.size < MAX_FILES || files.has(path)) files.set(path, [...lines, line]);
  };
  let heading: string | undefined;
  for (const line of output.split('\n')) {
    const numbered = LINE.exec(line);
    if (numbered !== null && heading !== undefined) {
      add(heading, `${numbered[1]}:${numbered[2]}`);
      continue;
    }
    const title = HEADING.exec(line);
    if (title !== null) heading = title[1] ?? title[2];
    const hit = HIT.exec(line);
    if (hit !== null) add(hit[1] ?? '', `${hit[3]}:${hit[4]}`);
    if (searched !== undefined && /^\d/.test(line)) add(searched, line);
  }
  return new Map([...files].map(([path, lines]) => [path, lines.join('\n')]));
}
