import { decodeBase64, encodeBase64 } from '@eventloom/core';
import type { ArtifactOwner } from '../artifact-driver.ts';

/** The largest number of versions that one artifact can have. */
const MAX_VERSION = 9_999_999_999;
/** An encoded app, user or session name that is longer is put by its hash, which takes 44 characters. */
const MAX_OWNER_SEGMENT = 64;
/** An encoded artifact name that is longer is put as base64: the longest allowed name, 512 bytes, takes 684 characters. */
const MAX_NAME_SEGMENT = 684;
/** Begins a segment that is not percent-encoded. */
const OTHERWISE = '~';
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The longest prefix, in bytes, with which every key fits into the 1,024 bytes that R2 takes. */
export const MAX_PREFIX_BYTES = 100;

/** Key prefixes of one owner's artifacts. */
export interface OwnerKeys {
  readonly versions: string;
  readonly deleted: string;
}

/** Keys of one artifact. */
export interface ArtifactKeys {
  /** Prefix of the keys of the artifact's versions. */
  readonly versions: string;
  /** The key of the object that says which versions are deleted. */
  readonly deleted: string;
}

/**
 * The keys of an owner's artifacts. Keys are ASCII, because R2 takes different spellings of one character for one, and every name
 * is a segment of its own, so that none meets another.
 */
export async function ownerKeys(prefix: string, { appName, userId, sessionId }: ArtifactOwner): Promise<OwnerKeys> {
  const user = `${prefix}apps/${await ownerSegment(appName)}/users/${await ownerSegment(userId)}`;
  const owner = sessionId === undefined ? user : `${user}/sessions/${await ownerSegment(sessionId)}`;
  return { versions: `${owner}/versions/`, deleted: `${owner}/deleted/` };
}

/** The keys of the artifact with this name. */
export function artifactKeys(owner: OwnerKeys, name: string): ArtifactKeys {
  const segment = nameSegment(name);
  return { versions: `${owner.versions}${segment}/`, deleted: owner.deleted + segment };
}

/** The key of a version. The latest comes first in a list, which R2 gives in ascending order only. */
export function versionKey({ versions }: ArtifactKeys, version: number): string {
  return versions + String(MAX_VERSION - version).padStart(String(MAX_VERSION).length, '0');
}

/** The version that a key is of. */
export function versionOf(key: string): number {
  return MAX_VERSION - Number(key.slice(key.lastIndexOf('/') + 1));
}

/** True for a number that a version can have. */
export function isVersion(version: number): boolean {
  return Number.isSafeInteger(version) && version >= 0 && version <= MAX_VERSION;
}

/** The name of the artifact whose versions are in this folder. */
export function nameOf(owner: OwnerKeys, folder: string): string {
  const segment = folder.slice(owner.versions.length, -1);
  const otherwise = segment.startsWith(OTHERWISE);
  return otherwise ? decoder.decode(decodeBase64(segment.slice(OTHERWISE.length))) : decodeURIComponent(segment);
}

function nameSegment(name: string): string {
  const encoded = percentEncode(name);
  return encoded.length > MAX_NAME_SEGMENT ? OTHERWISE + toUrlBase64(encoder.encode(name)) : encoded;
}

async function ownerSegment(name: string): Promise<string> {
  const encoded = percentEncode(name);
  if (encoded.length <= MAX_OWNER_SEGMENT) return encoded;
  return OTHERWISE + toUrlBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(name))));
}

/** No encoded name begins with the mark of another form, or is `.` or `..`, which tools that copy buckets to folders stumble on. */
function percentEncode(name: string): string {
  return encodeURIComponent(name).replace(/^[.~]/, (first) => (first === '.' ? '%2E' : '%7E'));
}

function toUrlBase64(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
