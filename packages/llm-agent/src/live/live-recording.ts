import {
  type Blob,
  ConfigurationError,
  decodeBase64,
  encodeBase64,
  type Event,
  type InvocationContext,
  sessionKeyOf,
} from '@eventloom/core';
import { isPcm, sampleRateOf, toWav } from './to-wav.ts';

/** What is kept in memory of one side, in characters of base64: two minutes of speech. More becomes a file at once. */
const MAX_CHARS = 8 * 1024 * 1024;

/** Keeps the audio of one side of a live run, and makes files of it. Each is an artifact, and an event that refers to it. */
export class LiveRecording {
  readonly #context: InvocationContext;
  readonly #side: 'input' | 'output';
  #pieces: Uint8Array[] = [];
  #mimeType = '';
  #chars = 0;

  constructor(context: InvocationContext, side: 'input' | 'output') {
    this.#context = context;
    this.#side = side;
  }

  /** Takes a piece; what is no audio is not recorded. True when there is so much that it is to be flushed. */
  add({ data = '', mimeType = '' }: Blob): boolean {
    if (!mimeType.startsWith('audio/')) return false;
    this.#mimeType ||= mimeType;
    this.#pieces.push(decodeBase64(data));
    this.#chars += data.length;
    return this.#chars > MAX_CHARS;
  }

  /** Saves what was said since the last time; undefined when nothing was. @throws ConfigurationError without an artifact service */
  async flush(): Promise<Event | undefined> {
    if (this.#pieces.length === 0) return undefined;
    const { artifactService, session, platform } = this.#context;
    if (!artifactService)
      throw new ConfigurationError('runConfig.saveLiveBlob: the runner has no artifactService to save audio with');
    const { bytes, mimeType, extension } = this.#toFile();
    const filename = `live_${this.#side}_audio_${platform.newUuid()}.${extension}`;
    const key = { ...sessionKeyOf(session), filename };
    const artifact = { inlineData: { data: encodeBase64(bytes), mimeType } };
    const version = await artifactService.saveArtifact({ ...key, artifact });
    const saved = await artifactService.getArtifactVersion({ ...key, version });
    const fileData = { fileUri: saved?.canonicalUri ?? filename, mimeType };
    const isInput = this.#side === 'input';
    return this.#context.createEvent({
      ...(isInput ? { author: 'user' } : {}),
      content: { role: isInput ? 'user' : 'model', parts: [{ fileData }] },
      actions: { artifactDelta: { [filename]: version } },
    });
  }

  #toFile(): { bytes: Uint8Array; mimeType: string; extension: string } {
    const pieces = this.#pieces;
    const mimeType = this.#mimeType;
    this.#pieces = [];
    this.#mimeType = '';
    this.#chars = 0;
    if (isPcm(mimeType)) {
      const sampleRate = sampleRateOf(mimeType) ?? (this.#side === 'input' ? 16_000 : 24_000);
      return { bytes: toWav(pieces, sampleRate), mimeType: 'audio/wav', extension: 'wav' };
    }
    const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return { bytes, mimeType, extension: /^audio\/([\w-]+)/.exec(mimeType)?.[1] ?? 'audio' };
  }
}
