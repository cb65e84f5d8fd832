import type { ClientSession } from '@eventloom/client';
import type { Event, Part } from '@eventloom/core';
import { messageOf } from './studio-client.ts';

/** A version of an artifact in the file of an exported session. */
export interface ExportedArtifact {
  readonly filename: string;
  readonly version: number;
  readonly part: Part;
}

/** Maximum size of all artifacts of a file together, in characters of their JSON. */
const MAX_CHARS = 100_000_000;
/** Maximum size of one, which is sent to the server as a whole when the file is imported: the default of servers, less its name. */
const MAX_PART_CHARS = 20 * 1024 * 1024 - 10_000;
/** A version above this was not counted by a server. */
const MAX_VERSION = 10_000;

/** The artifacts of a session, and those that its file does not have, each as a text with the reason. */
interface SessionArtifacts {
  readonly artifacts: readonly ExportedArtifact[];
  readonly leftOut: readonly string[];
}

/** Reads all versions of the artifacts of a session, without those of its user, which other sessions share. */
export async function readArtifacts(session: ClientSession, events: readonly Event[]): Promise<SessionArtifacts> {
  const saved = new Set(events.flatMap(({ actions }) => Object.keys(actions.artifactDelta)));
  const artifacts: ExportedArtifact[] = [];
  const leftOut: string[] = [];
  let room = MAX_CHARS;
  for (const filename of await session.listArtifacts()) {
    if (filename.startsWith('user:')) {
      if (saved.has(filename)) leftOut.push(`${filename.slice('user:'.length)} (belongs to the user)`);
      continue;
    }
    for (const version of await session.listArtifactVersions(filename)) {
      const part = await session.loadArtifact(filename, version);
      const { length } = JSON.stringify(part);
      if (length > Math.min(room, MAX_PART_CHARS)) leftOut.push(`${filename}, version ${version} (too large)`);
      else {
        room -= length;
        artifacts.push({ filename, version, part });
      }
    }
  }
  return { artifacts, leftOut };
}

/** Takes the place of a version that the file does not have, so that the later ones keep their numbers. */
const ABSENT: Part = { text: 'This version was not in the file from which the session was imported.' };

/**
 * Saves the artifacts of a file in a session that has none, with the numbers of their versions.
 * @returns the artifacts that the server did not save, each as a text with the reason
 */
export async function saveArtifacts(session: ClientSession, artifacts: readonly ExportedArtifact[]): Promise<string[]> {
  const failed: string[] = [];
  for (const [filename, versions] of Map.groupBy(artifacts, (artifact) => artifact.filename))
    try {
      let next = 0;
      for (const { version, part } of versions.toSorted((one, other) => one.version - other.version)) {
        for (; next < version; next++) await session.saveArtifact(filename, ABSENT);
        if (next === version) await session.saveArtifact(filename, part);
        next++;
      }
    } catch (thrown) {
      failed.push(`${filename} (${messageOf(thrown)})`);
    }
  return failed;
}

/** Returns the artifacts in the JSON of a file. @throws TypeError for a list with another value */
export function artifactsInFile(value: unknown): readonly ExportedArtifact[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every(isArtifact)) return value;
  throw new TypeError('expected "artifacts" to be a list of { filename, version, part }');
}

function isArtifact(value: unknown): value is ExportedArtifact {
  if (typeof value !== 'object' || value === null) return false;
  const { filename, version, part } = value as Partial<ExportedArtifact>;
  // The files of a user are those of all of its sessions.
  const isOwn = typeof filename === 'string' && !filename.startsWith('user:');
  const isVersion = Number.isInteger(version) && Number(version) >= 0 && Number(version) <= MAX_VERSION;
  return isOwn && isVersion && typeof part === 'object' && part !== null;
}
