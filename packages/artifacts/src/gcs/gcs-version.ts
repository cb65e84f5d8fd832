import { decodeBase64, encodeBase64, type Part } from '@eventloom/core';
import { joinBytes } from '@eventloom/core/internal';
import type { ArtifactRecord, StoredArtifact } from '../artifact-driver.ts';
import type { GcsObject, GcsWrite } from './gcs-bucket.ts';

/** Maximum size of a record in the metadata of an object, for which Cloud Storage takes 8,192 bytes together with the ADK's fields. */
const MAX_RECORD_BYTES = 5000;
/** Maximum size of a field of the ADK in the metadata. */
const MAX_FIELD_BYTES = 700;
/** The metadata with the record, or with the size of the part's own bytes if the record follows them in the body. */
const RECORD = 'eventloom';
const SIZE = 'eventloomBytes';
/** The metadata of the ADK. */
const ADK = { text: 'adkIsText', uri: 'adkFileUri', mimeType: 'adkFileMimeType', name: 'adkDisplayName' } as const;
const NOT_CUSTOM: readonly string[] = [RECORD, SIZE, ...Object.values(ADK)];
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Converts a version to the object to store. Its body and the ADK's fields are those with which the ADK stores the same part. */
export function toGcsVersion({ record, data }: StoredArtifact): GcsWrite {
  const { part, mimeType } = record;
  const isText = data === undefined && part.fileData === undefined;
  const bytes = data === undefined ? encoder.encode(isText ? (part.text ?? '') : '') : decodeBase64(data);
  const adk = {
    [ADK.text]: isText ? 'true' : undefined,
    [ADK.uri]: part.fileData?.fileUri,
    [ADK.mimeType]: part.fileData?.mimeType,
    [ADK.name]: part.inlineData?.displayName,
  };
  const fields = Object.entries(adk).flatMap(([key, value]): [string, string][] =>
    value && encoder.encode(value).length <= MAX_FIELD_BYTES ? [[key, value]] : [],
  );
  const metadata = Object.fromEntries(fields);
  const contentType = /^[\u0020-\u007e]{1,255}$/.test(mimeType) ? mimeType : 'application/octet-stream';
  // Text with an unpaired surrogate cannot be encoded in a body, so it stays in the record.
  const isInBody = isText && part.text?.isWellFormed() === true;
  const json = JSON.stringify(isInBody ? { ...record, part: { ...part, text: '' } } : record);
  const ascii = json.length > MAX_RECORD_BYTES ? undefined : toAscii(json);
  if (ascii !== undefined && ascii.length <= MAX_RECORD_BYTES)
    return { body: bytes, contentType, metadata: { ...metadata, [RECORD]: ascii } };
  const body = joinBytes([bytes, encoder.encode(json)]);
  return { body, contentType, metadata: { ...metadata, [SIZE]: String(bytes.length) } };
}

/** Returns the record of a version, without the part's text; undefined if it is in the body of the object. */
export function recordIn(object: GcsObject): ArtifactRecord | undefined {
  const { metadata } = object;
  const json = metadata[RECORD];
  if (json !== undefined) return JSON.parse(json) as ArtifactRecord;
  return metadata[SIZE] === undefined ? adkRecord(object) : undefined;
}

/** Reads a version from its object. */
export function fromGcsVersion(object: GcsObject, body: Uint8Array): StoredArtifact {
  const bytes = body.subarray(0, Number(object.metadata[SIZE] ?? body.length));
  const record = recordIn(object) ?? (JSON.parse(decoder.decode(body.subarray(bytes.length))) as ArtifactRecord);
  const { part } = record;
  if (part.inlineData?.data !== undefined) return { record, data: encodeBase64(bytes) };
  if (part.fileData || part.text) return { record, data: undefined };
  return { record: { ...record, part: { ...part, text: decoder.decode(bytes) } }, data: undefined };
}

/** Describes an object that the ADK stored. */
function adkRecord({ metadata, contentType = 'application/octet-stream', createTime }: GcsObject): ArtifactRecord {
  const custom = Object.entries(metadata).filter(([key]) => !NOT_CUSTOM.includes(key));
  return {
    part: adkPart(metadata, contentType),
    mimeType: contentType,
    createTime,
    ...(custom.length > 0 ? { customMetadata: Object.fromEntries(custom) } : {}),
  };
}

function adkPart(metadata: GcsObject['metadata'], contentType: string): Part {
  const fileUri = metadata[ADK.uri];
  if (fileUri) return { fileData: { fileUri, mimeType: metadata[ADK.mimeType] ?? contentType } };
  const displayName = metadata[ADK.name];
  const isText = metadata[ADK.text] === 'true' || (contentType === 'text/plain' && !displayName);
  if (isText) return { text: '' };
  return { inlineData: { data: '', mimeType: contentType, ...(displayName && { displayName }) } };
}

/** Escapes JSON to ASCII, so that its length is its size and its encoding does not matter. */
function toAscii(json: string): string {
  return json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
