import { InvalidArtifactNameError, InvalidRequestError, type Part } from '@eventloom/core';
import type { ArtifactPlace, StoredArtifact } from '../../artifact-driver.ts';
import { brokenDriver, brokenService, type ArtifactMutant } from './mutant.ts';

export const saveMutants: readonly ArtifactMutant[] = [
  brokenService('save.counts-versions', 'numbers versions from 1', (service) => ({
    saveArtifact: async (request) => (await service.saveArtifact(request)) + 1,
  })),
  brokenDriver('save.counts-versions', 'numbers the versions of all names together', (driver) => {
    let next = 0;
    return {
      save(place, artifact) {
        driver.save(place, artifact);
        return next++;
      },
    };
  }),
  brokenDriver('save.concurrent', 'reads the next number before it writes', (driver) => {
    const written = new Map<number, StoredArtifact>();
    return {
      async save(_, artifact) {
        const version = written.size;
        await Promise.resolve();
        written.set(version, artifact);
        return version;
      },
      read(place, read) {
        const artifact = written.get(read.version ?? written.size - 1);
        return artifact ? { ...artifact, version: read.version ?? written.size - 1 } : driver.read(place, read);
      },
    };
  }),
  brokenService('save.nothing-refused', 'silently saves nothing', (service) => ({
    saveArtifact: (request) => service.saveArtifact({ ...request, artifact: { text: '', ...request.artifact } }),
  })),
  brokenService('save.check', 'saves what it checks', (service) => ({
    checkSave: async (request) => void (await service.saveArtifact(request)),
  })),
  brokenService('save.check', 'accepts every part', () => ({ checkSave: async () => undefined })),
  brokenService('save.bad-base64-refused', 'decodes invalid data as far as possible', (service) => ({
    saveArtifact: (request) =>
      service
        .saveArtifact(request)
        .catch(() => service.saveArtifact({ ...request, artifact: { inlineData: { data: '' } } })),
  })),
  brokenService('save.bad-metadata-refused', 'drops invalid metadata', (service) => ({
    saveArtifact: (request) =>
      service.saveArtifact(request).catch(() => service.saveArtifact({ ...request, customMetadata: undefined })),
  })),
  brokenService('save.bad-filenames-refused', 'returns nothing for an invalid name', (service) => ({
    loadArtifact: (request) =>
      service.loadArtifact(request).catch((error: unknown) => {
        if (InvalidArtifactNameError.isInstance(error)) return undefined;
        throw error;
      }),
  })),
  brokenService('save.bad-filenames-refused', 'normalises names', (service) => ({
    saveArtifact: (request) =>
      service.saveArtifact({ ...request, filename: request.filename.replace(/^\/+|\/+$/g, '') }),
  })),
  brokenService('save.bad-names-refused', 'returns an empty list for an invalid name', (service) => ({
    listArtifactKeys: (request) => service.listArtifactKeys(request).catch(() => []),
  })),
  brokenService('save.bad-names-refused', 'does not name the invalid field', (service) => ({
    deleteArtifact: (request) =>
      service.deleteArtifact(request).catch(() => Promise.reject(new InvalidRequestError('a name is invalid'))),
  })),
  brokenService('save.own-copy', 'stores the given part without a copy', (service) => {
    const parts = new Map<string, Part>();
    return {
      saveArtifact(request) {
        parts.set(request.filename, request.artifact);
        return service.saveArtifact(request);
      },
      loadArtifact: async (request) => parts.get(request.filename),
    };
  }),
  brokenService('save.own-copy', 'stores the given metadata without a copy', (service) => {
    let kept: Readonly<Record<string, unknown>> | undefined;
    return {
      saveArtifact(request) {
        kept = request.customMetadata;
        return service.saveArtifact(request);
      },
      async getArtifactVersion(request) {
        const known = await service.getArtifactVersion(request);
        return known && kept ? { ...known, customMetadata: kept } : known;
      },
    };
  }),

  brokenDriver('load.latest', 'sorts version 9 after version 10', (driver) => ({
    read: (place, read) =>
      driver.read(place, {
        ...read,
        version: read.version ?? Number(driver.versions(place).map(String).sort().at(-1)),
      }),
  })),
  brokenDriver('load.version', 'treats version 0 as absent', (driver) => ({
    read: (place, read) => driver.read(place, { ...read, version: read.version || undefined }),
  })),
  brokenDriver('load.missing-is-undefined', 'returns the latest version instead of a missing one', (driver) => ({
    read: (place, read) => driver.read(place, read) ?? driver.read(place, { ...read, version: undefined }),
  })),
  brokenPart('load.text', 'trims text', (part) =>
    part.text === undefined ? part : { ...part, text: part.text.trim() },
  ),
  brokenPart('load.text', 'stores text as UTF-8', (part) =>
    part.text === undefined ? part : { ...part, text: new TextDecoder().decode(new TextEncoder().encode(part.text)) },
  ),
  brokenPart('load.bytes', 'returns bytes as text', (part) =>
    part.inlineData
      ? { inlineData: { ...part.inlineData, data: btoa(atob(part.inlineData.data ?? '').trim()) } }
      : part,
  ),
  brokenPart('load.bytes', 'returns no part for empty bytes', (part) => (part.inlineData?.data === '' ? {} : part)),
  brokenService('load.base64-forms', 'returns data in the given alphabet', (service) => {
    let given: Part = {};
    return {
      saveArtifact(request) {
        given = request.artifact;
        return service.saveArtifact(request);
      },
      loadArtifact: async () => structuredClone(given),
    };
  }),
  brokenPart('load.file-data', 'truncates a URI at a #', (part) =>
    part.fileData ? { fileData: { ...part.fileData, fileUri: part.fileData.fileUri?.split('#')[0] ?? '' } } : part,
  ),
  brokenPart('load.other-fields', 'stores only the data', ({ inlineData, fileData, text }) =>
    inlineData ? { inlineData } : fileData ? { fileData } : { text: text ?? '' },
  ),
  brokenPart('load.big', 'truncates data over a megabyte', (part) =>
    part.inlineData
      ? { inlineData: { ...part.inlineData, data: part.inlineData.data?.slice(0, 1_048_576) ?? '' } }
      : part,
  ),
  brokenService('load.own-copy', 'returns the same part object to every reader', (service) => {
    let loaded: Part | undefined;
    return { loadArtifact: async (request) => (loaded ??= await service.loadArtifact(request)) };
  }),
  brokenService('load.own-copy', 'returns the same metadata object to every reader', (service) => {
    const known = new Map<string, Awaited<ReturnType<typeof service.getArtifactVersion>>>();
    return {
      async getArtifactVersion(request) {
        if (!known.has(request.filename)) known.set(request.filename, await service.getArtifactVersion(request));
        return known.get(request.filename);
      },
    };
  }),
];

export const nameMutants: readonly ArtifactMutant[] = [
  brokenPlace('name.odd-names', 'encodes only slashes', (name) => name.replaceAll('/', '%2F')),
  brokenPlace('name.odd-names', 'normalises names', (name) => name.normalize('NFC')),
  brokenPlace('name.odd-names', 'truncates long names', (name) => name.slice(0, 255)),
  brokenDriver('name.odd-names', 'treats a folder called versions as its own', (driver) => ({
    names: (owner) => driver.names(owner).filter((name) => !name.includes('versions/')),
  })),
  brokenDriver('name.user-scope', 'stores user artifacts in the session', (driver) => {
    let session = 0;
    const own = (place: ArtifactPlace): ArtifactPlace =>
      place.sessionId === undefined ? { ...place, sessionId: `of ${session++}` } : place;
    return { save: (place, artifact) => driver.save(own(place), artifact) };
  }),
  brokenDriver('name.user-scope', 'shares user artifacts with all users', (driver) => {
    const anybody = <T extends { sessionId: string | undefined }>(place: T): T =>
      place.sessionId === undefined ? { ...place, userId: 'anybody' } : place;
    return {
      save: (place, artifact) => driver.save(anybody(place), artifact),
      read: (place, read) => driver.read(anybody(place), read),
    };
  }),
  brokenDriver('name.sessions-apart', 'joins names with slashes', (driver) => {
    const joined = <T extends { appName: string; userId: string; sessionId: string | undefined }>(place: T): T => ({
      ...place,
      appName: [place.appName, place.userId, place.sessionId ?? ''].join('/'),
      userId: '',
      sessionId: undefined,
    });
    return {
      save: (place, artifact) => driver.save(joined(place), artifact),
      read: (place, read) => driver.read(joined(place), read),
    };
  }),
  brokenService('name.listing', 'sorts names by locale', (service) => ({
    listArtifactKeys: async (request) =>
      (await service.listArtifactKeys(request)).toSorted((a, b) => a.localeCompare(b)),
  })),
  brokenService('name.listing', 'does not list user artifacts', (service) => ({
    listArtifactKeys: async (request) =>
      (await service.listArtifactKeys(request)).filter((name) => !name.startsWith('user:')),
  })),
  brokenService('name.listing', 'lists user artifacts without the prefix', (service) => ({
    listArtifactKeys: async (request) =>
      (await service.listArtifactKeys(request)).map((name) => name.replace(/^user:/, '')).sort(),
  })),
];

/** Creates a mutant that changes loaded parts. */
function brokenPart(breaks: string, how: string, change: (part: Part) => Part): ArtifactMutant {
  return brokenService(breaks, how, (service) => ({
    async loadArtifact(request) {
      const part = await service.loadArtifact(request);
      return part && change(part);
    },
  }));
}

/** A mutant that stores under another name. */
function brokenPlace(breaks: string, how: string, rename: (name: string) => string): ArtifactMutant {
  return brokenDriver(breaks, how, (driver) => ({
    save: (place, artifact) => driver.save({ ...place, name: rename(place.name) }, artifact),
    read: (place, read) => driver.read({ ...place, name: rename(place.name) }, read),
    versions: (place) => driver.versions({ ...place, name: rename(place.name) }),
  }));
}
