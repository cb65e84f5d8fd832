/** Reads WebAssembly bytes from beginning to end. */
export class WasmReader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  /**
   * Reads one byte.
   *
   * @throws TypeError at the end
   */
  byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new TypeError('the WebAssembly ends too early');
    return byte;
  }

  /** Reads an unsigned number of at most 32 bits. */
  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  /** Reads this number of bytes; without an argument, reads the number first. */
  take(length = this.number()): Uint8Array {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    return new TextDecoder().decode(this.take());
  }

  /** Skips this many numbers, signed or not. */
  skipNumbers(count: number): void {
    for (let left = count; left > 0; left--) while (this.byte() >= 0x80);
  }

  /** Skips one instruction and returns its opcode: its byte, or for two-part instructions 0xfc00 plus the second number. */
  instruction(): number {
    const code = this.byte();
    if (code === 0xfc) {
      const second = this.number();
      if (second > 17) throw new TypeError(`the instruction fc ${second} is not known`);
      this.skipNumbers(PARTS_OF_BULK[second] ?? 0);
      return 0xfc00 + second;
    }
    if (code === 0x0e) this.skipNumbers(this.number() + 1);
    else if (code === 0x1c) this.skipNumbers(this.number());
    else if (code === 0x43 || code === 0x44) this.take(code === 0x43 ? 4 : 8);
    else this.skipNumbers(numbersAfter(code));
    return code;
  }
}

/**
 * Numbers after the opcodes of memory.init, data.drop, memory.copy, memory.fill, table.init, elem.drop, table.copy,
 * .grow, .size and .fill.
 */
const PARTS_OF_BULK = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/**
 * Returns the number of immediates of an instruction of WebAssembly 2.0 without vectors.
 *
 * @throws TypeError for other instructions
 */
function numbersAfter(code: number): number {
  if (code === 0x11 || (code >= 0x28 && code <= 0x3e)) return 2;
  const hasOne =
    (code >= 0x02 && code <= 0x04) ||
    (code >= 0x0c && code <= 0x10) ||
    (code >= 0x20 && code <= 0x26) ||
    (code >= 0x3f && code <= 0x42) ||
    code === 0xd0 ||
    code === 0xd2;
  if (hasOne) return 1;
  const hasNone =
    code <= 0x01 ||
    code === 0x05 ||
    code === 0x0b ||
    code === 0x0f ||
    (code >= 0x1a && code <= 0x1b) ||
    (code >= 0x45 && code <= 0xc4) ||
    code === 0xd1;
  if (!hasNone) throw new TypeError(`the instruction ${code.toString(16)} is not known`);
  return 0;
}
