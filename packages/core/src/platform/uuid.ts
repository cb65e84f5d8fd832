const POOL_BYTES = 4096;
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

/** The character code of the first hex digit of a random byte. */
function high(at: number): number {
  return DIGITS.charCodeAt(random.getUint8(at) >> 4);
}

/** The character code of the second hex digit of a random byte. */
function low(at: number): number {
  return DIGITS.charCodeAt(random.getUint8(at) & 15);
}

/** The character code of the digit with the variant of RFC 9562: 8, 9, a or b. */
function variant(at: number): number {
  return DIGITS.charCodeAt(8 | (random.getUint8(at) & 3));
}

let lastTime = -1;
let lastDigits = '';

/** The 12 hex digits of a millisecond, kept because ids come many to the millisecond. */
function timeDigits(timeMs: number): string {
  if (timeMs !== lastTime) {
    lastDigits = Math.floor(timeMs).toString(16).padStart(12, '0');
    lastTime = timeMs;
  }
  return lastDigits;
}

// Both write an id with one call and not as a sum of its pieces: that allocates a tenth, and events are full of ids.

/** A UUID version 7 (RFC 9562) for a time in milliseconds since the epoch. Ids of one millisecond are in no order. */
export function uuidV7(timeMs: number): string {
  const time = timeDigits(timeMs);
  const at = takeRandom(10);
  // oxfmt-ignore
  return String.fromCharCode(
    time.charCodeAt(0), time.charCodeAt(1), time.charCodeAt(2), time.charCodeAt(3),
    time.charCodeAt(4), time.charCodeAt(5), time.charCodeAt(6), time.charCodeAt(7), DASH,
    time.charCodeAt(8), time.charCodeAt(9), time.charCodeAt(10), time.charCodeAt(11), DASH,
    DIGITS.charCodeAt(7), low(at), high(at + 1), low(at + 1), DASH,
    variant(at + 2), low(at + 2), high(at + 3), low(at + 3), DASH,
    high(at + 4), low(at + 4), high(at + 5), low(at + 5), high(at + 6), low(at + 6),
    high(at + 7), low(at + 7), high(at + 8), low(at + 8), high(at + 9), low(at + 9),
  );
}

/** A random UUID, version 4. */
export function uuidV4(): string {
  const at = takeRandom(16);
  // oxfmt-ignore
  return String.fromCharCode(
    high(at), low(at), high(at + 1), low(at + 1), high(at + 2), low(at + 2), high(at + 3), low(at + 3), DASH,
    high(at + 4), low(at + 4), high(at + 5), low(at + 5), DASH,
    DIGITS.charCodeAt(4), low(at + 6), high(at + 7), low(at + 7), DASH,
    variant(at + 8), low(at + 8), high(at + 9), low(at + 9), DASH,
    high(at + 10), low(at + 10), high(at + 11), low(at + 11), high(at + 12), low(at + 12),
    high(at + 13), low(at + 13), high(at + 14), low(at + 14), high(at + 15), low(at + 15),
  );
}
