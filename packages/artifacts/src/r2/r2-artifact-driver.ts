import type { Platform } from '@eventloom/core';
import type {
  ArtifactDriver,
  ArtifactOwner,
  ArtifactPlace,
  ArtifactRead,
  ArtifactVersionRecord,
  StoredArtifact,
} from '../artifact-driver.ts';
import type { R2ArtifactBucket, R2ArtifactListing, R2ArtifactObject, R2ArtifactWrite } from './r2-artifact-bucket.ts';
import {
  type ArtifactKeys,
  artifactKeys,
  isVersion,
  nameOf,
  ownerKeys,
  versionKey,
  versionOf,
} from './r2-artifact-keys.ts';
import { fromR2Version, recordIn, toR2Version } from './r2-version.ts';

/**
 * Artifacts in R2. Each version is an object, created only if its key is free. The floor of an artifact, a number in its own object, is the
 * lowest version that is not deleted: a deletion raises the floor first and removes the objects afterwards, so all versions are deleted
 * at once. The floor never falls. Every read and write of a version checks the floor afterwards: if it is not above the version's number,
 * no object of that number was ever removed, so the existing object is the first one of its number.
 */
export class R2ArtifactDriver implements ArtifactDriver {
  readonly #bucket: R2ArtifactBucket;
  readonly #prefix: string;
  readonly #platform: Platform;

  constructor(bucket: R2ArtifactBucket, prefix: string, platform: Platform) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#platform = platform;
  }

  async save(place: ArtifactPlace, artifact: StoredArtifact): Promise<number> {
    const keys = await this.#keysOf(place);
    const { body, customMetadata } = toR2Version(artifact);
    for (;;) {
      const [latest = -1, floor] = await Promise.all([this.#latest(keys), this.#floor(keys)]);
      const version = Math.max(latest + 1, floor);
      const key = versionKey(keys, version);
      const isOurs = await this.#put(key, body, { customMetadata, onlyIf: { etagDoesNotMatch: '*' } });
      if (!isOurs) continue;
      if ((await this.#floor(keys)) <= version) return version;
      // The versions were deleted after they were listed, so the number may have been used before.
      await this.#bucket.delete([key]);
    }
  }

  async read(place: ArtifactPlace, { version, withData }: ArtifactRead) {
    const keys = await this.#keysOf(place);
    const wanted = version ?? (await this.#latest(keys));
    if (wanted === undefined || !isVersion(wanted)) return undefined;
    const key = versionKey(keys, wanted);
    const stored = withData ? await this.#readWhole(key) : await this.#readRecord(key);
    if (!stored || (await this.#floor(keys)) > wanted) return undefined;
    return { ...stored, version: wanted };
  }

  async versions(place: ArtifactPlace): Promise<number[]> {
    const keys = await this.#keysOf(place);
    const { objects } = await this.#listAll({ prefix: keys.versions });
    const floor = await this.#floor(keys);
    return objects.map(({ key }) => versionOf(key)).filter((version) => version >= floor);
  }

  async versionRecords(place: ArtifactPlace): Promise<ArtifactVersionRecord[]> {
    const keys = await this.#keysOf(place);
    const { objects } = await this.#listAll({ prefix: keys.versions, include: ['customMetadata'] });
    const found: ArtifactVersionRecord[] = [];
    // Read one at a time: a record that is not in the metadata may have several megabytes of text.
    for (const { key, customMetadata } of objects) {
      const record = recordIn(customMetadata) ?? (await this.#readWhole(key))?.record;
      if (!record) continue;
      const { part: _part, ...known } = record;
      found.push({ ...known, version: versionOf(key) });
    }
    const floor = await this.#floor(keys);
    return found.filter(({ version }) => version >= floor);
  }

  async names(owner: ArtifactOwner): Promise<string[]> {
    const keys = await ownerKeys(this.#prefix, owner);
    const [kept, deleted] = await Promise.all([
      this.#listAll({ prefix: keys.versions, delimiter: '/' }),
      this.#listAll({ prefix: keys.deleted, include: ['customMetadata'] }),
    ]);
    const floors = new Map(deleted.objects.map((object) => [object.key, floorIn(object)]));
    const names = kept.delimitedPrefixes.map((folder) => nameOf(keys, folder));
    const areThere = await Promise.all(
      names.map(async (name) => {
        const artifact = artifactKeys(keys, name);
        const floor = floors.get(artifact.deleted);
        // The artifact was deleted earlier: its objects are later versions, or versions that the deletion has not removed yet.
        return floor === undefined || ((await this.#latest(artifact)) ?? -1) >= floor;
      }),
    );
    return names.filter((_, index) => areThere[index]);
  }

  async delete(place: ArtifactPlace): Promise<void> {
    const keys = await this.#keysOf(place);
    let page = await this.#bucket.list({ prefix: keys.versions });
    const [latest] = page.objects;
    if (!latest) return;
    const floor = versionOf(latest.key) + 1;
    await this.#raiseFloor(keys, floor);
    for (;;) {
      if (page.objects.length > 0) await this.#bucket.delete(page.objects.map(({ key }) => key));
      if (!page.truncated) return;
      // Versions that were saved meanwhile stay.
      page = await this.#bucket.list({ prefix: keys.versions, startAfter: versionKey(keys, floor) });
    }
  }

  async #keysOf(place: ArtifactPlace): Promise<ArtifactKeys> {
    return artifactKeys(await ownerKeys(this.#prefix, place), place.name);
  }

  /** Returns the highest number with an object, which may be below the floor. */
  async #latest({ versions }: ArtifactKeys): Promise<number | undefined> {
    const { objects } = await this.#bucket.list({ prefix: versions, limit: 1 });
    return objects[0] && versionOf(objects[0].key);
  }

  async #floor({ deleted }: ArtifactKeys): Promise<number> {
    const object = await this.#bucket.head(deleted);
    return object ? floorIn(object) : 0;
  }

  async #raiseFloor({ deleted }: ArtifactKeys, floor: number): Promise<void> {
    for (;;) {
      const known = await this.#bucket.head(deleted);
      if (known && floorIn(known) >= floor) return;
      const onlyIf = known ? { etagMatches: known.etag } : { etagDoesNotMatch: '*' };
      // The number is the body as well, because the etag is made from that.
      const write = { customMetadata: { floor: String(floor) }, onlyIf };
      if (await this.#put(deleted, String(floor), write)) return;
    }
  }

  /** Returns false if the condition did not hold. */
  async #put(key: string, body: Uint8Array | string, write: R2ArtifactWrite): Promise<boolean> {
    return (await retryThrottled(this.#platform, () => this.#bucket.put(key, body, write))) !== null;
  }

  async #readWhole(key: string): Promise<StoredArtifact | undefined> {
    const object = await this.#bucket.get(key);
    if (!object) return undefined;
    const body = new Uint8Array(await object.arrayBuffer());
    return fromR2Version({ body, customMetadata: object.customMetadata ?? {} });
  }

  async #readRecord(key: string): Promise<StoredArtifact | undefined> {
    const object = await this.#bucket.head(key);
    const record = object && (recordIn(object.customMetadata) ?? (await this.#readWhole(key))?.record);
    return record ? { record, data: undefined } : undefined;
  }

  async #listAll(listing: R2ArtifactListing) {
    const objects: R2ArtifactObject[] = [];
    const delimitedPrefixes: string[] = [];
    let page = await this.#bucket.list(listing);
    for (;;) {
      objects.push(...page.objects);
      delimitedPrefixes.push(...page.delimitedPrefixes);
      if (!page.truncated || page.cursor === undefined) return { objects, delimitedPrefixes };
      page = await this.#bucket.list({ ...listing, cursor: page.cursor });
    }
  }
}

/** The floor of an artifact: versions below it are deleted. */
function floorIn({ customMetadata }: R2ArtifactObject): number {
  return Number(customMetadata?.['floor'] ?? 0);
}

/** Code at the end of R2's error message for a write during another write of the same key. */
const TOO_MANY_WRITES = '(10058)';
/** Delays between repeated writes: in total about the time that R2 recommends. */
const WAITS_MS: readonly number[] = [250, 500, 1000, 2000, 4000];

/** Writes, and repeats the write while R2 is busy with another write of the same key. @throws the last error */
async function retryThrottled<T>(platform: Platform, write: () => Promise<T>): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Error && error.message.endsWith(TOO_MANY_WRITES))) throw error;
    }
    // The jitter keeps concurrent writers from meeting again.
    const spreadMs = waitMs * (0.5 + platform.random() / 2);
    await new Promise<void>((resolve) => platform.schedule(spreadMs, resolve));
  }
  return write();
}
