import { type Blob, type Content, encodeBase64, InvalidEventError, InvalidRequestError } from '@eventloom/core';
import { describeKind, isBase64, isRecord, parseContent } from '@eventloom/core/internal';
import { checkCounts, type CountLimits, parseJson, quotedName } from '@eventloom/server/internal';

/** The content of one frame of a client. */
export type ClientFrame =
  | { readonly blob: Blob }
  | { readonly content: Content }
  | { readonly activityStart: true }
  | { readonly activityEnd: true }
  | { readonly close: true }
  /** Asks for a sign of life: the server answers with the same value. */
  | { readonly ping: unknown }
  /** The answer to a ping of the server. */
  | { readonly pong: number };

/** The type of raw audio in binary frames: as live models take it. */
const PCM = 'audio/pcm;rate=16000';

/** Maximum length of a media type with its parameters, in characters. */
const MAX_TYPE_CHARS = 256;

const READERS: Readonly<Record<string, (value: unknown) => ClientFrame>> = {
  blob: (value) => ({ blob: readBlob(value) }),
  content: (value) => ({ content: readContent(value) }),
  activityStart: () => ({ activityStart: true }),
  activity_start: () => ({ activityStart: true }),
  activityEnd: () => ({ activityEnd: true }),
  activity_end: () => ({ activityEnd: true }),
  close: (value) => readClose(value),
  ping: (ping) => ({ ping }),
  pong: (pong) => ({ pong: Number(pong) }),
};

/**
 * Parses a text frame: JSON with one of `blob`, `content`, `activity_start`, `activity_end`, `close`, `ping` and `pong`, in either
 * spelling. Null and false count as absent, and other keys are ignored, as in the ADK.
 * @throws InvalidRequestError with the path and the reason
 * @throws BodyTooLargeError
 */
export function parseTextFrame(text: string, limits: CountLimits): ClientFrame {
  const frame = parseJson('frame', text, limits);
  checkCounts(frame, limits);
  if (!isRecord(frame))
    throw new InvalidRequestError(
      `frame: expected an object, got ${describeKind(frame)}; write {"content": {"parts": [{"text": "Hello"}]}}`,
    );
  const given = Object.keys(frame).filter((key) => isGiven(frame[key]));
  const known = given.filter((key) => Object.hasOwn(READERS, key));
  const [key = '', second] = known;
  const reader = READERS[key];
  if (!reader) {
    const found = given[0] === undefined ? 'nothing' : quotedName(given[0]);
    throw new InvalidRequestError(
      `frame: expected one of the fields blob, content, activity_start, activity_end, close and ping, got ${found}`,
    );
  }
  if (second !== undefined) throw new InvalidRequestError(`frame: has both ${key} and ${second}; send two frames`);
  return reader(frame[key]);
}

/** A binary frame: 16-bit PCM with 16,000 samples a second, one channel. @throws InvalidRequestError */
export function parseBinaryFrame(bytes: Uint8Array): ClientFrame {
  if (bytes.length === 0 || bytes.length % 2 !== 0) {
    throw new InvalidRequestError(`frame: has ${bytes.length} bytes, an odd number that cannot be samples of 16 bits`);
  }
  return { blob: { mimeType: PCM, data: encodeBase64(bytes) } };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function readClose(value: unknown): ClientFrame {
  if (value !== true)
    throw new InvalidRequestError(`close: expected true, got ${describeKind(value)}; write {"close": true}`);
  return { close: true };
}

function readBlob(value: unknown): Blob {
  if (!isRecord(value))
    throw new InvalidRequestError(
      `blob: expected an object, got ${describeKind(value)}; write {"blob": {"mime_type": "audio/pcm;rate=16000", "data": "…"}}`,
    );
  const { data, mimeType = value['mime_type'] } = value;
  if (typeof mimeType !== 'string' || !mimeType.includes('/') || mimeType.length > MAX_TYPE_CHARS) {
    throw new InvalidRequestError(
      `blob.mimeType: expected a type such as audio/pcm;rate=16000, of at most ${MAX_TYPE_CHARS} characters`,
    );
  }
  if (typeof data !== 'string' || data === '') throw new InvalidRequestError(`blob.data: expected a non-empty string`);
  if (!isBase64(data)) throw new InvalidRequestError('blob.data: expected base64 text');
  return { mimeType, data };
}

function readContent(value: unknown): Content {
  try {
    return parseContent(value);
  } catch (error) {
    if (InvalidEventError.isInstance(error)) throw new InvalidRequestError(error.message, { cause: error });
    throw error;
  }
}
