import type {
  ArtifactDriver,
  ArtifactOwner,
  ArtifactPlace,
  ArtifactRead,
  ArtifactVersionRecord,
  StoredArtifact,
} from '../artifact-driver.ts';
import type { GcsBucket, GcsObject } from './gcs-bucket.ts';
import { artifactFolder, artifactOf, deletedKey, isVersion, nameOf, ownerFolder, versionIn } from './gcs-keys.ts';
import { fromGcsVersion, recordIn, toGcsVersion } from './gcs-version.ts';

/** Number of objects that are deleted at the same time. */
const DELETED_AT_ONCE = 16;
const FLOOR = 'floor';

/**
 * Artifacts in Cloud Storage. Each version is an object, created only if its name is free. The floor of an artifact, a
 * number in its own object, is the lowest version that is not deleted: a deletion raises the floor first and removes
 * the objects afterwards, so all versions are deleted at once. The floor never falls. Every read and write of a version
 * checks the floor afterwards: if it is not above the version's number, no object of that number was ever removed, so
 * the existing object is the first one of its number.
 */
export class GcsArtifactDriver implements ArtifactDriver {
  readonly #bucket: GcsBucket;

  constructor(bucket: GcsBucket) {
    this.#bucket = bucket;
  }

  async save(place: ArtifactPlace, artifact: StoredArtifact): Promise<number> {
    const folder = await folderOf(place);
    const object = toGcsVersion(artifact);
    for (;;) {
      const [versions, floor] = await Promise.all([this.#list(folder), this.#floor(folder)]);
      const version = Math.max(floor, ...latestOf(versions).map((latest) => latest + 1));
      const key = `${folder}${version}`;
      if (!(await this.#bucket.write(key, object, '0'))) continue;
      if ((await this.#floor(folder)) <= version) return version;
      // The versions were deleted after they were listed, so the number may have been used before.
      await this.#bucket.delete(key);
    }
  }

  async read(place: ArtifactPlace, { version, withData }: ArtifactRead) {
    const folder = await folderOf(place);
    const wanted = version ?? latestOf(await this.#list(folder))[0];
    if (wanted === undefined || !isVersion(wanted)) return undefined;
    const object = await this.#bucket.stat(`${folder}${wanted}`);
    const stored = object && (withData ? await this.#whole(object) : await this.#described(object));
    if (!stored || (await this.#floor(folder)) > wanted) return undefined;
    return { ...stored, version: wanted };
  }

  async versions(place: ArtifactPlace): Promise<number[]> {
    const folder = await folderOf(place);
    const versions = await this.#list(folder);
    const floor = await this.#floor(folder);
    return versions.map(({ version }) => version).filter((version) => version >= floor);
  }

  async versionRecords(place: ArtifactPlace): Promise<ArtifactVersionRecord[]> {
    const folder = await folderOf(place);
    const found: ArtifactVersionRecord[] = [];
    // Read one at a time: a record that is not in the metadata may have several megabytes.
    for (const { object, version } of await this.#list(folder)) {
      const described = await this.#described(object);
      if (!described) continue;
      const { part: _part, ...known } = described.record;
      found.push({ ...known, version });
    }
    const floor = await this.#floor(folder);
    return found.filter(({ version }) => version >= floor);
  }

  async names(owner: ArtifactOwner): Promise<string[]> {
    const folder = await ownerFolder(owner);
    const [kept, deleted] = await Promise.all([this.#bucket.list(folder), this.#bucket.list(deletedKey(folder))]);
    const floors = new Map(deleted.map((object) => [object.name, floorIn(object)]));
    const names = new Set<string>();
    for (const { name } of kept) {
      const found = artifactOf(name);
      if (!found || found.artifact === folder) continue;
      if (found.version >= (floors.get(deletedKey(found.artifact)) ?? 0)) names.add(nameOf(folder, found.artifact));
    }
    return [...names];
  }

  async delete(place: ArtifactPlace): Promise<void> {
    const folder = await folderOf(place);
    const versions = await this.#list(folder);
    const [latest] = latestOf(versions);
    if (latest === undefined) return;
    await this.#raiseFloor(folder, latest + 1);
    for (let at = 0; at < versions.length; at += DELETED_AT_ONCE) {
      const some = versions.slice(at, at + DELETED_AT_ONCE);
      await Promise.all(some.map(({ object }) => this.#bucket.delete(object.name)));
    }
  }

  /** Lists the versions that have an object, also below the floor. */
  async #list(folder: string): Promise<ListedVersion[]> {
    const objects = await this.#bucket.list(folder);
    return objects.flatMap((object) => {
      const version = versionIn(folder, object.name);
      return version === undefined ? [] : [{ object, version }];
    });
  }

  async #floor(folder: string): Promise<number> {
    const object = await this.#bucket.stat(deletedKey(folder));
    return object ? floorIn(object) : 0;
  }

  async #raiseFloor(folder: string, floor: number): Promise<void> {
    const key = deletedKey(folder);
    for (;;) {
      const known = await this.#bucket.stat(key);
      if (known && floorIn(known) >= floor) return;
      const object = { contentType: 'text/plain', metadata: { [FLOOR]: String(floor) }, body: new Uint8Array() };
      if (await this.#bucket.write(key, object, known?.generation ?? '0')) return;
    }
  }

  async #whole(object: GcsObject): Promise<StoredArtifact | undefined> {
    const body = await this.#bucket.read(object);
    return body && fromGcsVersion(object, body);
  }

  async #described(object: GcsObject): Promise<StoredArtifact | undefined> {
    const record = recordIn(object);
    return record ? { record, data: undefined } : this.#whole(object);
  }
}

interface ListedVersion {
  readonly object: GcsObject;
  readonly version: number;
}

async function folderOf(place: ArtifactPlace): Promise<string> {
  return artifactFolder(await ownerFolder(place), place.name);
}

/** Returns the highest version, in a list; an empty list without versions. */
function latestOf(versions: readonly ListedVersion[]): [] | [number] {
  let latest: number | undefined;
  for (const { version } of versions) if (latest === undefined || version > latest) latest = version;
  return latest === undefined ? [] : [latest];
}

/** The floor of an artifact: versions below it are deleted. */
function floorIn({ metadata }: GcsObject): number {
  return Number(metadata[FLOOR] ?? 0);
}
