import { type Parts, writeParts } from '../../src/mcp/outgoing.ts';
import { JsonText } from '../../src/wire/json-text.ts';

/** A message as it would go over the wire. */
export function written(parts: Parts): string {
  const out = new JsonText(0);
  writeParts(parts, out);
  return out.finish().toString('utf8');
}
