import { isRecord, tryParseJson } from '@eventloom/core/internal';

/** Spans of an accepted request that the collector refused. */
export interface RefusedSpans {
  readonly count: number;
  readonly reason: string;
}

/** The type of requests and responses. */
export const PROTOBUF = 'application/x-protobuf';
/** Maximum size of a response that is read; a larger one is ignored. In bytes. */
const MAX_RESPONSE = 65_536;
/** Maximum length of a reason, in characters. */
const MAX_REASON = 500;

/**
 * Reads the response to an accepted request, an `ExportTraceServiceResponse`. Returns the spans that it refuses; undefined if it refuses
 * none, even if it has a warning. Collectors answer in protobuf, some in JSON, and many without a body.
 */
export async function readRefusal(response: Response): Promise<RefusedSpans | undefined> {
  const bytes = await readBytes(response);
  // Parsing an empty text as JSON would cost an error with its stack.
  if (bytes.length === 0) return undefined;
  const isProtobuf = response.headers.get('content-type')?.startsWith(PROTOBUF) === true;
  const { rejected, message } = isProtobuf ? fromProtobuf(bytes) : fromJson(bytes);
  const count = Number(rejected ?? 0);
  if (!Number.isSafeInteger(count) || count <= 0) return undefined;
  const isGiven = typeof message === 'string' && message !== '';
  return { count, reason: isGiven ? message.slice(0, MAX_REASON) : 'no reason given' };
}

/** Reads a response to its end, so that its connection can be used again. Returns no bytes if there are too many. */
export async function readBytes({ body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > MAX_RESPONSE) return new Uint8Array();
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** The fields of `partial_success`, before they are checked. */
interface PartialSuccess {
  readonly rejected?: unknown;
  readonly message?: unknown;
}

function fromJson(bytes: Uint8Array): PartialSuccess {
  const parsed = tryParseJson(new TextDecoder().decode(bytes));
  const partial = isRecord(parsed) ? parsed['partialSuccess'] : undefined;
  // 64-bit numbers are strings in the JSON of protobuf.
  return isRecord(partial) ? { rejected: partial['rejectedSpans'], message: partial['errorMessage'] } : {};
}

function fromProtobuf(bytes: Uint8Array): PartialSuccess {
  const partial = fieldsOf(bytes).get(1);
  if (!(partial instanceof Uint8Array)) return {};
  const fields = fieldsOf(partial);
  const message = fields.get(2);
  return {
    rejected: fields.get(1),
    message: message instanceof Uint8Array ? new TextDecoder().decode(message) : undefined,
  };
}

/** Returns the numbers, texts and messages of a protobuf message by the numbers of their fields, up to the first other or invalid field. */
function fieldsOf(bytes: Uint8Array): Map<number, number | Uint8Array> {
  const fields = new Map<number, number | Uint8Array>();
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) return Number.NaN;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = readVarint();
    const size = readVarint();
    const wireType = tag % 8;
    if (wireType === 0) fields.set(Math.floor(tag / 8), size);
    else if (wireType === 2 && size <= bytes.length - at) {
      fields.set(Math.floor(tag / 8), bytes.subarray(at, at + size));
      at += size;
    } else break;
  }
  return fields;
}
