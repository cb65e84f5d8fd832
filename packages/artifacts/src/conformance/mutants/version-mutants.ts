import { type ArtifactVersion, InvalidRequestError } from '@eventloom/core';
import { InMemoryArtifactDriver } from '../../in-memory-artifact-driver.ts';
import { brokenDriver, brokenService, type ArtifactMutant } from './mutant.ts';

export const versionMutants: readonly ArtifactMutant[] = [
  brokenService('versions.listed', 'sorts version numbers as text', (service) => ({
    listVersions: async (request) => (await service.listVersions(request)).map(String).sort().map(Number),
  })),
  brokenService('versions.listed', 'lists only the latest version', (service) => ({
    listVersions: async (request) => (await service.listVersions(request)).slice(-1),
  })),
  brokenKnown('versions.known', 'returns the time in milliseconds', (known) => ({
    ...known,
    createTime: known.createTime * 1000,
  })),
  brokenKnown('versions.known', 'does not encode names in URIs', (known) => ({
    ...known,
    canonicalUri: decodeURIComponent(known.canonicalUri),
  })),
  brokenKnown('versions.known', 'returns metadata that was not saved', (known) => ({ customMetadata: {}, ...known })),
  brokenService('versions.known', 'lists the latest version first', (service) => ({
    listArtifactVersions: async (request) => (await service.listArtifactVersions(request)).toReversed(),
  })),
  brokenService('versions.one-known', 'describes only the latest version', (service) => ({
    getArtifactVersion: ({ version: _version, ...request }) => service.getArtifactVersion(request),
  })),
  brokenKnown('versions.types', 'treats data without a type as text', (known) => ({
    ...known,
    mimeType: known.mimeType.replace('application/octet-stream', 'text/plain'),
  })),
  brokenDriver('delete.removes', 'deletes only the latest version', (driver) => {
    const gone = new Set<number>();
    return {
      delete: (place) => void gone.add(Math.max(...driver.versions(place))),
      read(place, read) {
        const found = driver.read(place, read);
        return found && gone.has(found.version) ? undefined : found;
      },
    };
  }),
  brokenDriver('delete.removes', 'lists deleted versions', (driver) => {
    const seen = new Set<string>();
    return {
      save(place, artifact) {
        seen.add(place.name);
        return driver.save(place, artifact);
      },
      names: (owner) => (owner.sessionId === undefined ? [] : [...seen]),
    };
  }),
  brokenDriver('delete.numbers-continue', 'restarts the version numbers', (first) => {
    let driver = first;
    return {
      save: (place, artifact) => driver.save(place, artifact),
      read: (place, read) => driver.read(place, read),
      versions: (place) => driver.versions(place),
      delete() {
        driver = new InMemoryArtifactDriver();
      },
    };
  }),
  brokenDriver('delete.missing-is-no-op', 'throws for a missing name', (driver) => ({
    delete(place) {
      if (driver.versions(place).length === 0) throw new InvalidRequestError('there is no such artifact');
      driver.delete(place);
    },
  })),
  brokenDriver('delete.missing-is-no-op', 'uses a version number for a deletion', (driver) => ({
    delete(place) {
      driver.save(place, { record: { part: {}, mimeType: '', createTime: 0 }, data: undefined });
      driver.delete(place);
    },
  })),
  brokenDriver('delete.touches-no-other', 'also deletes names below the name', (driver) => ({
    delete(place) {
      for (const name of driver.names(place)) if (name.startsWith(place.name)) driver.delete({ ...place, name });
    },
  })),
  brokenDriver('delete.touches-no-other', "also deletes the user's artifact of that name", (driver) => ({
    delete(place) {
      driver.delete(place);
      driver.delete({ ...place, sessionId: undefined });
    },
  })),
];

/** Creates a mutant that changes the descriptions of versions. */
function brokenKnown(breaks: string, how: string, change: (known: ArtifactVersion) => ArtifactVersion): ArtifactMutant {
  return brokenService(breaks, how, (service) => ({
    listArtifactVersions: async (request) => (await service.listArtifactVersions(request)).map(change),
  }));
}
