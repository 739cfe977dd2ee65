import { JsonText } from '../../src/mcp/json-text.ts';
import { type Parts, writeParts } from '../../src/mcp/outgoing.ts';

/** A message as it would go over the wire. */
export function written(parts: Parts): string {
  const out = new JsonText(0);
  writeParts(parts, out);
  return out.finish().toString('utf8');
}
