import { InvalidRequestError, type Part, type SaveArtifactRequest } from '@eventloom/core';
import { copyJson } from '@eventloom/core/internal';
import type { StoredArtifact } from './artifact-driver.ts';

const TEXT = 'text/plain';
const BYTES = 'application/octet-stream';

/**
 * Splits a part into its bytes and the JSON that is stored beside them.
 * @throws InvalidRequestError when the part is empty or of a kind that cannot be saved
 */
export function toStored({ artifact, customMetadata }: SaveArtifactRequest, createTime: number): StoredArtifact {
  const { inlineData, fileData, text } = artifact;
  let data: string | undefined;
  let mimeType: string;
  if (inlineData?.data !== undefined) {
    data = typeof inlineData.data === 'string' ? toStandardBase64(inlineData.data) : undefined;
    if (data === undefined)
      throw new InvalidRequestError('artifact.inlineData.data: is not base64; write data: encodeBase64(bytes)');
    mimeType = inlineData.mimeType || BYTES;
  } else if (fileData?.fileUri) {
    mimeType = fileData.mimeType || BYTES;
  } else if (typeof text === 'string') {
    mimeType = TEXT;
  } else {
    throw new InvalidRequestError(
      "artifact: has neither inlineData with data, nor fileData with a fileUri, nor text; write { text: 'hello' }, or { inlineData: { mimeType: 'image/png', data } } with data as base64",
    );
  }
  const bare = inlineData && data !== undefined ? { ...artifact, inlineData: { ...inlineData, data: '' } } : artifact;
  const record = {
    part: copyOf('artifact', bare) as Part,
    mimeType,
    createTime,
    ...(customMetadata ? { customMetadata: copyOf('customMetadata', customMetadata) } : {}),
  };
  return { record, data };
}

/** Restores a saved part, with its bytes as standard base64. */
export function toPart({ record, data }: StoredArtifact): Part {
  const part = structuredClone(record.part);
  return data === undefined ? part : { ...part, inlineData: { ...part.inlineData, data } };
}

function copyOf(field: string, value: object): Record<string, unknown> {
  const copied = copyJson(value);
  if ('value' in copied) return copied.value as Record<string, unknown>;
  const path = [field, copied.fault.path].filter(Boolean).join('.');
  throw new InvalidRequestError(`${path}: ${copied.fault.reason}`);
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** Number of low bits of the last character without data, by the length modulo 4. */
const UNUSED_BITS: Readonly<Record<number, number>> = { 2: 4, 3: 2 };

/**
 * Converts base64 of both alphabets, with or without padding and white space, to standard base64 with padding.
 * Returns undefined if the text is not base64.
 */
export function toStandardBase64(text: string): string | undefined {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/').replaceAll(/\s+/g, '');
  const end = standard.indexOf('=');
  const digits = end === -1 ? standard : standard.slice(0, end);
  const remainder = digits.length % 4;
  const padding = '='.repeat((4 - remainder) % 4);
  if (remainder === 1 || !/^[A-Za-z0-9+/]*$/.test(digits)) return undefined;
  if (end !== -1 && standard.slice(end) !== padding) return undefined;
  const unused = UNUSED_BITS[remainder];
  if (unused === undefined) return digits;
  const last = ALPHABET.indexOf(digits.slice(-1));
  return digits.slice(0, -1) + ALPHABET.charAt((last >> unused) << unused) + padding;
}
