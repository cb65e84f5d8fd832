const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;

/** The sample rate in a MIME type (`audio/pcm;rate=24000`), in hertz; undefined when there is none. */
export function sampleRateOf(mimeType: string): number | undefined {
  const rate = /;\s*rate=(\d+)/i.exec(mimeType)?.[1];
  return rate === undefined || Number(rate) === 0 ? undefined : Number(rate);
}

/** True for raw samples, as live models send and take them: 16 bits, little-endian, one channel. */
export function isPcm(mimeType: string): boolean {
  return /^audio\/(?:pcm|l16)\b/i.test(mimeType);
}

/** Converts raw samples to a WAV file of the same length. Half a sample at the end is left out. */
export function toWav(pieces: readonly Uint8Array[], sampleRate: number): Uint8Array<ArrayBuffer> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const size = length - (length % BYTES_PER_SAMPLE);
  const bytes = new Uint8Array(HEADER_BYTES + size);
  const header = new DataView(bytes.buffer);
  const tag = (at: number, text: string): void => {
    for (let index = 0; index < text.length; index++) bytes[at + index] = text.charCodeAt(index);
  };
  tag(0, 'RIFF');
  header.setUint32(4, HEADER_BYTES - 8 + size, true);
  tag(8, 'WAVEfmt ');
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, sampleRate, true);
  header.setUint32(28, sampleRate * BYTES_PER_SAMPLE, true);
  header.setUint16(32, BYTES_PER_SAMPLE, true);
  header.setUint16(34, BYTES_PER_SAMPLE * 8, true);
  tag(36, 'data');
  header.setUint32(40, size, true);
  let at = HEADER_BYTES;
  for (const piece of pieces) {
    const room = HEADER_BYTES + size - at;
    bytes.set(piece.length > room ? piece.subarray(0, room) : piece, at);
    at += piece.length;
  }
  return bytes;
}
