import { decodeBase64 } from '@eventloom/core';
import { encodeUrlBase64 } from '@eventloom/core/internal';
import type { ArtifactOwner } from '../artifact-driver.ts';

/** Maximum size of an encoded app, user or session name in bytes. A longer one is replaced with its hash, which has 45 characters. */
const MAX_OWNER_BYTES = 100;
/**
 * Maximum size of an encoded artifact name in bytes. A longer one is encoded as base64: the longest name, 512 bytes,
 * has 685 characters.
 */
const MAX_NAME_BYTES = 685;
/** Prefix of a segment that is not percent-encoded. No percent-encoded segment begins with it. */
const OTHERWISE = '%~';
/** The folder of a user's artifacts, beside those of the user's sessions. */
const USER = 'user';
/** Folder of the objects that record deleted versions. No encoded app name is equal to it. */
const DELETED = '%deleted/';
const VERSION = /^(?:0|[1-9]\d{0,14})$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Returns the prefix of the names of an owner's objects: `app/user/session/`, or `app/user/user/` for artifacts of the
 * user, as the ADK names them. Slashes, percent signs and control characters of names are percent-encoded, so that no
 * two owners share a prefix. Every name fits into the limit of 1,024 bytes.
 */
export async function ownerFolder({ appName, userId, sessionId }: ArtifactOwner): Promise<string> {
  const session = sessionId === undefined ? USER : await ownerSegment(sessionId);
  const folder = sessionId === USER ? percentOf(USER.charAt(0)) + USER.slice(1) : session;
  return `${await ownerSegment(appName)}/${await ownerSegment(userId)}/${folder}/`;
}

/** Returns the prefix of the names of an artifact's versions. A name may hold slashes. */
export function artifactFolder(owner: string, name: string): string {
  const encoded = name.split('/').map(percentEncode).join('/');
  const fits = encoder.encode(encoded).length <= MAX_NAME_BYTES;
  return `${owner}${fits ? encoded : OTHERWISE + encodeUrlBase64(encoder.encode(name))}/`;
}

/** Returns the name of the object that records the deleted versions of an artifact. */
export function deletedKey(artifact: string): string {
  return DELETED + artifact;
}

/** Returns the version number in the name of an artifact's object; undefined for an object of another artifact. */
export function versionIn(artifact: string, key: string): number | undefined {
  const version = key.slice(artifact.length);
  return key.startsWith(artifact) && VERSION.test(version) ? Number(version) : undefined;
}

/** True for a number that a version can have. */
export function isVersion(version: number): boolean {
  return VERSION.test(String(version));
}

/** Returns the folder and the version of an artifact; undefined for an object that is not a version. */
export function artifactOf(key: string): { readonly artifact: string; readonly version: number } | undefined {
  const artifact = key.slice(0, key.lastIndexOf('/') + 1);
  const version = versionIn(artifact, key);
  return version === undefined ? undefined : { artifact, version };
}

/** Returns the name of the artifact with this folder. */
export function nameOf(owner: string, artifact: string): string {
  const encoded = artifact.slice(owner.length, -1);
  if (encoded.startsWith(OTHERWISE)) return decoder.decode(decodeBase64(encoded.slice(OTHERWISE.length)));
  return encoded.replaceAll(/%([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

async function ownerSegment(name: string): Promise<string> {
  const encoded = percentEncode(name).replaceAll('/', percentOf('/'));
  if (encoder.encode(encoded).length <= MAX_OWNER_BYTES) return encoded;
  return OTHERWISE + encodeUrlBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(name))));
}

/**
 * Encodes percent signs and the characters that names of objects may not have. The result is not `.` or `..`, and does
 * not begin like a reserved name.
 */
function percentEncode(segment: string): string {
  // oxlint-disable-next-line no-control-regex -- the names of objects may not hold them
  return segment.replaceAll(/[\u0000-\u001f\u007f%]|^\./g, percentOf);
}

function percentOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
