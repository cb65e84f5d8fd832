import {
  type BaseArtifactService,
  ConfigurationError,
  InvalidRequestError,
  type Part,
  type SessionKey,
  setOwn,
} from '@eventloom/core';

/** Brings a session's artifacts back: everything is read before anything is written. */
export class RewindArtifacts {
  readonly #service: BaseArtifactService;
  readonly #key: SessionKey;
  /** What each held. */
  readonly #parts = new Map<string, Part>();
  /** Those that were not there. */
  readonly #absent: string[] = [];

  private constructor(service: BaseArtifactService, key: SessionKey) {
    this.#service = service;
    this.#key = key;
  }

  /**
   * @param versions the version that each artifact had; undefined when it was not there
   * @throws InvalidRequestError when one has other versions but not that one
   */
  static async load(
    service: BaseArtifactService | undefined,
    key: SessionKey,
    versions: ReadonlyMap<string, number | undefined>,
  ): Promise<RewindArtifacts | undefined> {
    if (versions.size === 0) return undefined;
    if (!service) {
      throw new ConfigurationError(
        `rewindAsync: the session saved ${[...versions.keys()].join(', ')} since, and the runner has no artifactService`,
      );
    }
    const artifacts = new RewindArtifacts(service, key);
    for (const [filename, version] of versions) await artifacts.#add(filename, version);
    return artifacts;
  }

  async #add(filename: string, version: number | undefined): Promise<void> {
    if (version === undefined) {
      this.#absent.push(filename);
      return;
    }
    const part = await this.#service.loadArtifact({ ...this.#key, filename, version });
    if (part) this.#parts.set(filename, part);
    else if ((await this.#service.listVersions({ ...this.#key, filename })).length > 0) {
      throw new InvalidRequestError(
        `artifact ${JSON.stringify(filename)}: its version ${version} was deleted, so it cannot be as it was`,
      );
    }
  }

  /** Saves what each held as its newest version. Returns the new versions. */
  async save(): Promise<Record<string, number>> {
    const versions: Record<string, number> = {};
    for (const [filename, artifact] of this.#parts) {
      setOwn(versions, filename, await this.#service.saveArtifact({ ...this.#key, filename, artifact }));
    }
    return versions;
  }

  /** Deletes those that were not there. */
  async deleteAbsent(): Promise<void> {
    for (const filename of this.#absent) await this.#service.deleteArtifact({ ...this.#key, filename });
  }
}
