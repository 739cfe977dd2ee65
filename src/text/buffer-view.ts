/**
 * Views the same bytes as a Buffer without copying. Buffer has the native search and compare that Uint8Array
 * lacks.
 */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
