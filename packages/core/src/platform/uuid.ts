const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** The next `count` random bytes start at the returned offset of the pool: one call to the generator serves hundreds of ids. */
function takeRandom(count: number): number {
  if (used + count > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const offset = used;
  used += count;
  return offset;
}

function hex(offset: number, count: number): string {
  let text = '';
  for (let index = offset; index < offset + count; index++) text += HEX[pool[index] as number];
  return text;
}

let lastTime = -1;
let lastPrefix = '';

/** The first 15 digits of version 7 for a millisecond, kept because ids come many to the millisecond. */
function timePrefix(timeMs: number): string {
  if (timeMs !== lastTime) {
    const digits = Math.floor(timeMs).toString(16).padStart(12, '0');
    lastPrefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
    lastTime = timeMs;
  }
  return lastPrefix;
}

/** A UUID version 7 (RFC 9562) for a time in milliseconds since the epoch. Ids of one millisecond are in no order. */
export function uuidV7(timeMs: number): string {
  const at = takeRandom(10);
  const variant = HEX[((pool[at + 2] as number) & 0x3f) | 0x80] as string;
  return `${timePrefix(timeMs)}${hex(at, 2).slice(1)}-${variant}${hex(at + 3, 1)}-${hex(at + 4, 6)}`;
}

/** A random UUID, version 4. */
export function uuidV4(): string {
  const at = takeRandom(16);
  const version = `4${hex(at + 6, 2).slice(1)}`;
  const variant = HEX[((pool[at + 8] as number) & 0x3f) | 0x80] as string;
  return `${hex(at, 4)}-${hex(at + 4, 2)}-${version}-${variant}${hex(at + 9, 1)}-${hex(at + 10, 6)}`;
}
