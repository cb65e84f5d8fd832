import { decodeBase64, encodeBase64 } from '@eventloom/core';
import { joinBytes } from '@eventloom/core/internal';
import type { ArtifactRecord, StoredArtifact } from '../artifact-driver.ts';

/** R2 takes 8,192 bytes of metadata for an object. */
const MAX_RECORD_BYTES = 6000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A version as an object of R2. */
export interface R2Version {
  /** The bytes of the part, and behind them the record as JSON when it is too large for the metadata. */
  readonly body: Uint8Array;
  readonly customMetadata: Record<string, string>;
}

/** The object to store a version as. */
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

/** The record of a version, when its object's metadata has it. */
export function recordIn({ record }: Record<string, string> = {}): ArtifactRecord | undefined {
  return record === undefined ? undefined : (JSON.parse(record) as ArtifactRecord);
}

/** A version from its object. */
export function fromR2Version({ body, customMetadata }: R2Version): StoredArtifact {
  const size = customMetadata['bytes'];
  const bytes = body.subarray(0, Number(size ?? 0));
  return {
    record: recordIn(customMetadata) ?? (JSON.parse(decoder.decode(body.subarray(bytes.length))) as ArtifactRecord),
    data: size === undefined ? undefined : encodeBase64(bytes),
  };
}

/** The same JSON in ASCII, so that its length is its size, and no layer between has to agree on an encoding. */
function toAscii(json: string): string {
  return json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
