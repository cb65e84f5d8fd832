const encoder = new TextEncoder();

/** Size of the buffer at first, in bytes. */
const INITIAL_BYTES = 1024;
/** Bytes that are free for each field beside its text: its tag, its length, and the bytes of an id, a time or a number. */
const ROOM = 32;
/** Longest text that is written character by character: for a longer one the encoder is faster. */
const SHORT = 96;

/** Words of 32 bits, the highest first. */
export type FourWords = readonly [first: number, second: number, third: number, fourth: number];

/**
 * Writes protobuf messages into one buffer, which grows. Fields are written in the order of the calls. `tag` is the tag of a field with
 * its wire type: `number * 8 + 2` for text and messages.
 */
export class ProtobufWriter {
  /** The buffer. Another one after a write that exceeds it. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(INITIAL_BYTES);
  /** Number of bytes that are written. */
  length = 0;
  #view = new DataView(this.bytes.buffer);

  /** Forgets what is written. From now on writes to another buffer, if one is given. */
  clear(buffer?: Uint8Array<ArrayBuffer>): void {
    this.length = 0;
    if (buffer) this.#replace(buffer);
  }

  /** Returns a copy of what is written. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }

  /** Begins a message, or another field whose length is known afterwards. Returns its position, for `close`. */
  open(tag: number): number {
    this.#reserve(ROOM);
    this.bytes[this.length] = tag;
    // One byte for the length.
    this.length += 2;
    return this.length;
  }

  /** Ends the message that was begun at a position. */
  close(from: number): void {
    const size = this.length - from;
    if (size < 128) this.bytes[from - 1] = size;
    else this.#writeLength(from, size, 1);
  }

  /** Begins a message that most likely has 128 to 16,383 bytes. Returns its position, for `closeLong`. */
  openLong(tag: number): number {
    const from = this.open(tag) + 1;
    this.length = from;
    return from;
  }

  /** Ends the message that was begun with `openLong` at a position. Returns true if it had to be moved, because its length is another. */
  closeLong(from: number): boolean {
    return this.#writeLength(from, this.length - from, 2);
  }

  /** Writes the length of a message, for which some bytes are free before it. Moves the message if it needs more or fewer of them. */
  #writeLength(from: number, size: number, free: number): boolean {
    const more = varintLength(size) - free;
    const isMoved = more !== 0;
    if (isMoved) {
      this.#reserve(more);
      this.bytes.copyWithin(from + more, from, this.length);
    }
    this.length = from - free;
    this.varint(size);
    this.length += size;
    return isMoved;
  }

  /** Leaves bytes free. */
  skip(size: number): void {
    this.#reserve(size);
    this.length += size;
  }

  /** Writes a text in UTF-8. Halves of surrogate pairs become U+FFFD. */
  text(tag: number, text: string): void {
    const { length } = text;
    if (length > SHORT) return this.#longText(tag, text);
    this.#reserve(length + ROOM);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = tag;
    bytes[at++] = length;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code > 127) return this.#longText(tag, text);
      bytes[at++] = code;
    }
    this.length = at;
  }

  #longText(tag: number, text: string): void {
    const from = this.open(tag);
    // A character takes at most three bytes of UTF-8.
    this.#reserve(text.length * 3);
    this.length += encoder.encodeInto(text, this.bytes.subarray(from)).written;
    this.close(from);
  }

  /** Writes a field of 8 bytes, given as two words of 32 bits, the higher first. */
  twoWords(tag: number, high: number, low: number): void {
    this.#reserve(ROOM);
    const at = this.length;
    this.bytes[at] = tag;
    this.bytes[at + 1] = 8;
    this.#view.setInt32(at + 2, high);
    this.#view.setInt32(at + 6, low);
    this.length = at + 10;
  }

  /** Writes a field of 16 bytes, given as four words of 32 bits, the highest first. */
  fourWords(tag: number, [first, second, third, fourth]: FourWords): void {
    this.#reserve(ROOM);
    const at = this.length;
    this.bytes[at] = tag;
    this.bytes[at + 1] = 16;
    this.#view.setInt32(at + 2, first);
    this.#view.setInt32(at + 6, second);
    this.#view.setInt32(at + 10, third);
    this.#view.setInt32(at + 14, fourth);
    this.length = at + 18;
  }

  /** Writes a field of 64 bits from its two words. */
  fixed64(tag: number, high: number, low: number): void {
    this.#reserve(ROOM);
    const at = this.length;
    this.bytes[at] = tag;
    this.#view.setInt32(at + 1, low, true);
    this.#view.setInt32(at + 5, high, true);
    this.length = at + 9;
  }

  /** Writes a number with a fraction. */
  double(tag: number, value: number): void {
    this.#reserve(ROOM);
    this.bytes[this.length] = tag;
    this.#view.setFloat64(this.length + 1, value, true);
    this.length += 9;
  }

  /** Writes a field with a safe integer of 64 bits. */
  integer(tag: number, value: number): void {
    this.#reserve(ROOM);
    this.bytes[this.length++] = tag;
    if (value >= 0) return this.varint(value);
    // Negative numbers are written as their two's complement, in ten bytes.
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) this.bytes[this.length++] = Number(rest & 127n) | 128;
    this.bytes[this.length++] = Number(rest);
  }

  /** Writes a whole number from 0. */
  varint(value: number): void {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.bytes[this.length++] = (rest % 128) | 128;
    this.bytes[this.length++] = rest;
  }

  /** Writes bytes that another writer has written. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Writes again what this writer has written between two positions. */
  repeat(from: number, to: number): void {
    this.#reserve(to - from);
    this.bytes.copyWithin(this.length, from, to);
    this.length += to - from;
  }

  #reserve(size: number): void {
    const needed = this.length + size;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.#replace(larger);
  }

  #replace(bytes: Uint8Array<ArrayBuffer>): void {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length++;
  return length;
}
