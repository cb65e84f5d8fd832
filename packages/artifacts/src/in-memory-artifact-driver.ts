import type { ArtifactDriver, ArtifactOwner, ArtifactPlace, ArtifactRead, StoredArtifact } from './artifact-driver.ts';

interface ArtifactHistory {
  /** The next version number. It is kept when the versions are deleted, so that no number is used again. */
  next: number;
  readonly versions: Map<number, StoredArtifact>;
}

/** Artifacts in maps: owner to name to versions. */
export class InMemoryArtifactDriver implements ArtifactDriver {
  readonly #owners = new Map<string, Map<string, ArtifactHistory>>();

  save(place: ArtifactPlace, artifact: StoredArtifact): number {
    const owner = nameOf(place);
    let artifacts = this.#owners.get(owner);
    if (!artifacts) this.#owners.set(owner, (artifacts = new Map()));
    let history = artifacts.get(place.name);
    if (!history) artifacts.set(place.name, (history = { next: 0, versions: new Map() }));
    history.versions.set(history.next, artifact);
    return history.next++;
  }

  read(place: ArtifactPlace, { version }: ArtifactRead): (StoredArtifact & { readonly version: number }) | undefined {
    const history = this.#find(place);
    if (!history) return undefined;
    const wanted = version ?? history.next - 1;
    const stored = history.versions.get(wanted);
    return stored && { ...stored, version: wanted };
  }

  versions(place: ArtifactPlace): number[] {
    return [...(this.#find(place)?.versions.keys() ?? [])];
  }

  names(owner: ArtifactOwner): string[] {
    const artifacts = [...(this.#owners.get(nameOf(owner)) ?? [])];
    return artifacts.flatMap(([name, { versions }]) => (versions.size > 0 ? [name] : []));
  }

  delete(place: ArtifactPlace): void {
    this.#find(place)?.versions.clear();
  }

  #find(place: ArtifactPlace): ArtifactHistory | undefined {
    return this.#owners.get(nameOf(place))?.get(place.name);
  }
}

function nameOf({ appName, userId, sessionId }: ArtifactOwner): string {
  return JSON.stringify([appName, userId, sessionId]);
}
