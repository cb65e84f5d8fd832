const POOL_BYTES = 8192;
const pool = new Uint8Array(POOL_BYTES);
const random = new DataView(pool.buffer);
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

const DIGITS = '0123456789abcdef';
const DASH = 45;

/** The character code of a random hex digit; the variant of RFC 9562 (8, 9, a or b) if `isVariant`. */
function digit(at: number, isVariant = false): number {
  const byte = random.getUint8(at);
  return DIGITS.charCodeAt(isVariant ? 8 | (byte & 3) : byte & 15);
}

let lastTime = -1;
/** The 12 hex digits of a millisecond, kept because ids come many to the millisecond. */
let timeDigits = '';

// Both write an id with one call and not as a sum of its pieces: that allocates a tenth, and events are full of ids.

/** A UUID version 7 (RFC 9562) for a time in milliseconds since the epoch, now if none is given. Ids of one millisecond are in no order. */
export function uuidV7(timeMs: number = Date.now()): string {
  if (timeMs !== lastTime) {
    timeDigits = Math.floor(timeMs).toString(16).padStart(12, '0');
    lastTime = timeMs;
  }
  const time = timeDigits;
  const at = takeRandom(19);
  // oxfmt-ignore
  return String.fromCharCode(
    time.charCodeAt(0), time.charCodeAt(1), time.charCodeAt(2), time.charCodeAt(3),
    time.charCodeAt(4), time.charCodeAt(5), time.charCodeAt(6), time.charCodeAt(7), DASH,
    time.charCodeAt(8), time.charCodeAt(9), time.charCodeAt(10), time.charCodeAt(11), DASH,
    DIGITS.charCodeAt(7), digit(at), digit(at + 1), digit(at + 2), DASH,
    digit(at + 3, true), digit(at + 4), digit(at + 5), digit(at + 6), DASH,
    digit(at + 7), digit(at + 8), digit(at + 9), digit(at + 10), digit(at + 11), digit(at + 12),
    digit(at + 13), digit(at + 14), digit(at + 15), digit(at + 16), digit(at + 17), digit(at + 18),
  );
}

/** A random UUID, version 4. */
export function uuidV4(): string {
  const at = takeRandom(31);
  // oxfmt-ignore
  return String.fromCharCode(
    digit(at), digit(at + 1), digit(at + 2), digit(at + 3), digit(at + 4), digit(at + 5), digit(at + 6), digit(at + 7), DASH,
    digit(at + 8), digit(at + 9), digit(at + 10), digit(at + 11), DASH,
    DIGITS.charCodeAt(4), digit(at + 12), digit(at + 13), digit(at + 14), DASH,
    digit(at + 15, true), digit(at + 16), digit(at + 17), digit(at + 18), DASH,
    digit(at + 19), digit(at + 20), digit(at + 21), digit(at + 22), digit(at + 23), digit(at + 24),
    digit(at + 25), digit(at + 26), digit(at + 27), digit(at + 28), digit(at + 29), digit(at + 30),
  );
}
