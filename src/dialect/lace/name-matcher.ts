/** A glob of `*` and `?` against one name, upper and lower case alike; no pattern makes it slow. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const wanted = [...pattern.toLowerCase()];
  return (name) => matches(wanted, [...name.toLowerCase()]);
}

/** Each star takes as little as it can; when the rest does not fit, only the last one takes more. */
function matches(wanted: readonly string[], chars: readonly string[]): boolean {
  let at = 0;
  let place = 0;
  let star: { readonly at: number; place: number } | undefined;
  while (place < chars.length) {
    if (wanted[at] === '*') {
      star = { at, place };
      at += 1;
    } else if (wanted[at] === '?' || wanted[at] === chars[place]) {
      at += 1;
      place += 1;
    } else if (star !== undefined) {
      star.place += 1;
      at = star.at + 1;
      place = star.place;
    } else return false;
  }
  return wanted.slice(at).every((char) => char === '*');
}
