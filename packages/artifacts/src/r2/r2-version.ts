import { decodeBase64, encodeBase64 } from '@eventloom/core';
import { joinBytes } from '@eventloom/core/internal';
import type { ArtifactRecord, StoredArtifact } from '../artifact-driver.ts';

/** Maximum size of a record in the metadata of an object, for which R2 takes 8,192 bytes. */
const MAX_RECORD_BYTES = 6000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A version as an R2 object. */
interface R2Version {
  /** The bytes of the part, followed by the record as JSON if it is too large for the metadata. */
  readonly body: Uint8Array;
  readonly customMetadata: Record<string, string>;
}

/** Converts a version to the object to store. */
export function toR2Version({ record, data }: StoredArtifact): R2Version {
  const bytes = data === undefined ? new Uint8Array() : decodeBase64(data);
  const size = data === undefined ? {} : { bytes: String(bytes.length) };
  const json = JSON.stringify(record);
  const ascii = json.length > MAX_RECORD_BYTES ? undefined : toAscii(json);
  if (ascii !== undefined && ascii.length <= MAX_RECORD_BYTES) {
    return { body: bytes, customMetadata: { ...size, record: ascii } };
  }
  return { body: joinBytes([bytes, encoder.encode(json)]), customMetadata: size };
}

/** Returns the record of a version; undefined if the object's metadata does not have it. */
export function recordIn({ record }: Record<string, string> = {}): ArtifactRecord | undefined {
  return record === undefined ? undefined : (JSON.parse(record) as ArtifactRecord);
}

/** Reads a version from its object. */
export function fromR2Version({ body, customMetadata }: R2Version): StoredArtifact {
  const size = customMetadata['bytes'];
  const bytes = body.subarray(0, Number(size ?? 0));
  return {
    record: recordIn(customMetadata) ?? (JSON.parse(decoder.decode(body.subarray(bytes.length))) as ArtifactRecord),
    data: size === undefined ? undefined : encodeBase64(bytes),
  };
}

/** Escapes JSON to ASCII, so that its length is its size and its encoding does not matter. */
function toAscii(json: string): string {
  return json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
