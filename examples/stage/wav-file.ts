import { readFileSync, writeFileSync } from 'node:fs';
import { UsageError } from './usage-error.ts';

const HEADER_BYTES = 44;

/** The speech in a file: one channel of 16-bit samples. */
export interface Wav {
  readonly sampleRate: number;
  readonly samples: Buffer;
}

/** Reads a WAV file. @throws UsageError for another kind of file, or for other samples */
export function readWav(path: string): Wav {
  const file = readFile(path);
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE')
    throw new UsageError(`${path} is not a WAV file`);
  let sampleRate = 0;
  for (let at = 12; at + 8 <= file.length;) {
    const [id, size] = [file.toString('latin1', at, at + 4), file.readUInt32LE(at + 4)];
    const body = file.subarray(at + 8, at + 8 + size);
    if (id === 'fmt ') {
      const isSpeech = body.readUInt16LE(0) === 1 && body.readUInt16LE(2) === 1 && body.readUInt16LE(14) === 16;
      if (!isSpeech) throw new UsageError(`${path}: expected PCM with one channel and 16 bits per sample`);
      sampleRate = body.readUInt32LE(4);
    }
    if (id === 'data') return { sampleRate, samples: body };
    at += 8 + size + (size % 2);
  }
  throw new UsageError(`${path} has no samples`);
}

function readFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : ''}`);
  }
}

/** Writes a WAV file. */
export function writeWav(path: string, { sampleRate, samples }: Wav): void {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(HEADER_BYTES - 8 + samples.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples.length, 40);
  writeFileSync(path, Buffer.concat([header, samples]));
}
