import {
  type ArtifactKey,
  type ArtifactVersion,
  BaseArtifactService,
  type LoadArtifactRequest,
  type Part,
  type Platform,
  type SaveArtifactRequest,
  type SessionKey,
  systemPlatform,
} from '@eventloom/core';
import {
  artifactUri,
  checkArtifactName,
  checkArgument,
  checkName,
  isUserArtifact,
  storageFailure,
  USER_PREFIX,
  type OptionRules,
  checkDriver,
  checkOptions,
} from '@eventloom/core/internal';
import type { ArtifactDriver, ArtifactPlace, ArtifactVersionRecord } from './artifact-driver.ts';
import { toPart, toStored } from './stored-part.ts';

/** Options of every artifact service. */
export interface DriverArtifactServiceOptions {
  /** Clock for `createTime`, to be replaced in tests. Default: that of the system. */
  readonly platform?: Platform | undefined;
}

const OPTIONS: OptionRules<DriverArtifactServiceOptions> = { platform: 'object' };

/**
 * An artifact service over a driver. It implements everything in the contract that is not storage.
 *
 * The data of `inlineData` is accepted in both alphabets of base64, with or without padding, and is returned as the same bytes in standard
 * base64 with padding; all other fields of a part are returned unchanged. Every method throws InvalidRequestError for an app, user or
 * session name that is empty, longer than 256 bytes, malformed or contains NUL.
 *
 * An error of the driver becomes the `cause` of a StorageError, unless it is an Eventloom error or a programming error such as a TypeError.
 */
export class DriverArtifactService extends BaseArtifactService {
  readonly #driver: ArtifactDriver;
  readonly #platform: Platform;

  /** @throws ConfigurationError for a value that is not a driver, and for an unknown option */
  constructor(driver: ArtifactDriver, options: DriverArtifactServiceOptions = {}) {
    super();
    checkOptions(new.target.name, OPTIONS, options);
    checkDriver('DriverArtifactService', driver, 'save', 'new MyArtifactDriver()');
    this.#driver = driver;
    this.#platform = options.platform ?? systemPlatform;
  }

  override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    const place = toPlace(request);
    const stored = toStored(request, this.#platform.now() / 1000);
    return this.#ask((driver) => driver.save(place, stored));
  }

  override async checkSave(request: SaveArtifactRequest): Promise<void> {
    const place = toPlace(request);
    const stored = toStored(request, this.#platform.now() / 1000);
    await this.#ask((driver) => driver.checkSave?.(place, stored));
  }

  override async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    const place = toPlace(request);
    const stored = await this.#ask((driver) => driver.read(place, { version: request.version, withData: true }));
    return stored && toPart(stored);
  }

  override async listArtifactKeys(request: SessionKey): Promise<string[]> {
    checkSessionKey(request);
    const { appName, userId, sessionId } = request;
    const [own, users] = await this.#ask((driver) =>
      Promise.all([
        driver.names({ appName, userId, sessionId }),
        driver.names({ appName, userId, sessionId: undefined }),
      ]),
    );
    return [...own, ...users.map((name) => USER_PREFIX + name)].sort();
  }

  override async listVersions(request: ArtifactKey): Promise<number[]> {
    const place = toPlace(request);
    const versions = await this.#ask((driver) => driver.versions(place));
    return versions.toSorted((one, other) => one - other);
  }

  override async listArtifactVersions(request: ArtifactKey): Promise<ArtifactVersion[]> {
    const place = toPlace(request);
    const records = await this.#ask((driver) => driver.versionRecords?.(place));
    if (records)
      return records.map((record) => toVersion(request, record)).sort((one, other) => one.version - other.version);
    const found: ArtifactVersion[] = [];
    for (const version of await this.listVersions(request)) {
      const known = await this.getArtifactVersion({ ...request, version });
      // One may have been deleted since it was listed.
      if (known) found.push(known);
    }
    return found;
  }

  override async getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    const place = toPlace(request);
    const stored = await this.#ask((driver) => driver.read(place, { version: request.version, withData: false }));
    return stored && toVersion(request, { ...stored.record, version: stored.version });
  }

  override async deleteArtifact(request: ArtifactKey): Promise<void> {
    const place = toPlace(request);
    await this.#ask((driver) => driver.delete(place));
  }

  async #ask<T>(work: (driver: ArtifactDriver) => T | Promise<T>): Promise<T> {
    try {
      return await work(this.#driver);
    } catch (error) {
      throw storageFailure('the artifact storage', error);
    }
  }
}

function toPlace(key: ArtifactKey): ArtifactPlace {
  checkArgument('{ appName, userId, sessionId, filename }', key);
  const { appName, userId, sessionId, filename } = key;
  checkArtifactName(filename);
  checkSessionKey(key);
  return isUserArtifact(filename)
    ? { appName, userId, sessionId: undefined, name: filename.slice(USER_PREFIX.length) }
    : { appName, userId, sessionId, name: filename };
}

function toVersion(key: ArtifactKey, record: ArtifactVersionRecord): ArtifactVersion {
  const { version, mimeType, createTime, customMetadata } = record;
  const canonicalUri = artifactUri(key, version);
  return {
    version,
    canonicalUri,
    mimeType,
    createTime,
    ...(customMetadata ? { customMetadata: structuredClone(customMetadata) } : {}),
  };
}

/** Checks the names that artifacts are stored under. @throws InvalidRequestError that names the field */
function checkSessionKey(key: SessionKey): void {
  checkArgument('listArtifactKeys({ appName, userId, sessionId })', key);
  for (const field of ['appName', 'userId', 'sessionId'] as const) checkName(field, key[field]);
}
