import { decodeBase64 } from '@eventloom/core';
import { encodeUrlBase64 } from '@eventloom/core/internal';
import type { ArtifactOwner } from '../artifact-driver.ts';

/** Maximum number of versions of an artifact. */
const MAX_VERSION = 9_999_999_999;
/** Maximum length of an encoded app, user or session name. A longer one is replaced with its hash, which has 44 characters. */
const MAX_OWNER_SEGMENT = 64;
/**
 * Maximum length of a percent-encoded artifact name. A longer one is encoded as base64: the longest name, 512 bytes,
 * has 684 characters.
 */
const MAX_NAME_SEGMENT = 684;
/** First character of a segment that is not percent-encoded. */
const OTHERWISE = '~';
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Maximum size of the prefix in bytes, so that every key fits into R2's limit of 1,024 bytes. */
export const MAX_PREFIX_BYTES = 100;

/** Key prefixes of one owner's artifacts. */
interface OwnerKeys {
  readonly versions: string;
  readonly deleted: string;
}

/** Keys of one artifact. */
export interface ArtifactKeys {
  /** Prefix of the keys of the artifact's versions. */
  readonly versions: string;
  /** Key of the object with the floor: versions below it are deleted. */
  readonly deleted: string;
}

/**
 * Creates the keys of an owner's artifacts. Keys are ASCII, because R2 normalizes Unicode, and every name is its own segment, so that no
 * two names have the same key.
 */
export async function ownerKeys(prefix: string, { appName, userId, sessionId }: ArtifactOwner): Promise<OwnerKeys> {
  const user = `${prefix}apps/${await ownerSegment(appName)}/users/${await ownerSegment(userId)}`;
  const owner = sessionId === undefined ? user : `${user}/sessions/${await ownerSegment(sessionId)}`;
  return { versions: `${owner}/versions/`, deleted: `${owner}/deleted/` };
}

/** Returns the keys of the artifact with this name. */
export function artifactKeys(owner: OwnerKeys, name: string): ArtifactKeys {
  const segment = nameSegment(name);
  return { versions: `${owner.versions}${segment}/`, deleted: owner.deleted + segment };
}

/** Returns the key of a version. Later versions have lower keys, because R2 lists in ascending order only. */
export function versionKey({ versions }: ArtifactKeys, version: number): string {
  return versions + String(MAX_VERSION - version).padStart(String(MAX_VERSION).length, '0');
}

/** Returns the version of a key. */
export function versionOf(key: string): number {
  return MAX_VERSION - Number(key.slice(key.lastIndexOf('/') + 1));
}

/** True for a number that a version can have. */
export function isVersion(version: number): boolean {
  return Number.isSafeInteger(version) && version >= 0 && version <= MAX_VERSION;
}

/** Returns the name of the artifact whose versions are in this folder. */
export function nameOf(owner: OwnerKeys, folder: string): string {
  const segment = folder.slice(owner.versions.length, -1);
  const otherwise = segment.startsWith(OTHERWISE);
  return otherwise ? decoder.decode(decodeBase64(segment.slice(OTHERWISE.length))) : decodeURIComponent(segment);
}

function nameSegment(name: string): string {
  const encoded = percentEncode(name);
  return encoded.length > MAX_NAME_SEGMENT ? OTHERWISE + encodeUrlBase64(encoder.encode(name)) : encoded;
}

async function ownerSegment(name: string): Promise<string> {
  const encoded = percentEncode(name);
  if (encoded.length <= MAX_OWNER_SEGMENT) return encoded;
  return OTHERWISE + encodeUrlBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(name))));
}

/**
 * Percent-encodes a name. The result does not begin with the mark of another form, and is not `.` or `..`, which fail
 * when a bucket is copied to a folder.
 */
function percentEncode(name: string): string {
  return encodeURIComponent(name).replace(/^[.~]/, (first) => (first === '.' ? '%2E' : '%7E'));
}
