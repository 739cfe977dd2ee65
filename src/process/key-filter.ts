import { endianness } from 'node:os';

/** The name of the file in a layer's folder that holds `keyFilter()`. */
export const FILTER = 'filter';

/**
 * The number of `add_key` by processor, as the kernel names processors for filters (AUDIT_ARCH_*).
 * The numbers of `request_key` and `keyctl` follow it.
 */
const ADD_KEY: readonly (readonly [processor: number, call: number])[] = [
  [0xc000003e, 248], // x64
  [0x40000003, 286], // x86
  [0xc00000b7, 217], // arm64
  [0x40000028, 309], // arm
  [0xc00000f3, 217], // riscv64
  [0xc0000102, 217], // loong64
  [0xc0000015, 269], // ppc64le
  [0x80000016, 278], // s390x
];
const LAST_CALL = 2;

/** Offsets in the data of a system call that a filter reads. */
const CALL_AT = 0;
const PROCESSOR_AT = 4;

/** Operations of the kernel's filters. */
const LOAD = 0x20;
const AND = 0x54;
const SUBTRACT = 0x14;
const IF_EQUAL = 0x15;
const IF_GREATER = 0x25;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const NOT_PERMITTED = 0x00050001;
/** Clears the bit that marks a call of the x32 interface of x64 processors. */
const WITHOUT_X32 = 0xbfffffff;

type Instruction = readonly [operation: number, value: number, ifTrue?: number, ifFalse?: number];

/**
 * A seccomp filter that denies the system calls for keys. A command inherits the kernel's keyring
 * of its session, which may hold passwords and tickets, and no option of bubblewrap takes it away.
 */
export function keyFilter(): Buffer {
  const instructions: Instruction[] = [
    [LOAD, PROCESSOR_AT],
    ...ADD_KEY.flatMap(([processor, call]): Instruction[] => [
      // For another processor, skip the other six instructions of this block.
      [IF_EQUAL, processor, 0, 6],
      [LOAD, CALL_AT],
      [AND, WITHOUT_X32],
      // Subtract without a sign: a smaller number than `call` becomes a large one.
      [SUBTRACT, call],
      [IF_GREATER, LAST_CALL, 0, 1],
      [RETURN, ALLOW],
      [RETURN, NOT_PERMITTED],
    ]),
    [RETURN, ALLOW],
  ];
  return Buffer.concat(instructions.map(bytesOf));
}

function bytesOf([operation, value, ifTrue = 0, ifFalse = 0]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  if (endianness() === 'LE') {
    bytes.writeUInt16LE(operation, 0);
    bytes.writeUInt32LE(value, 4);
  } else {
    bytes.writeUInt16BE(operation, 0);
    bytes.writeUInt32BE(value, 4);
  }
  return bytes;
}
