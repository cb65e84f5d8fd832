import { artifactUri } from '@eventloom/core/internal';
import type { ArtifactRule } from './artifact-rule.ts';
import { bytes, KEY, SESSION, text } from './samples.ts';

/** Rules about the metadata of versions, and about deletion. */
export const versionRules: readonly ArtifactRule[] = [
  {
    id: 'versions.listed',
    title: 'The versions of a filename are listed in ascending order; a filename that does not exist has none.',
    async check({ service, expect }) {
      expect.same('without the name', await service.listVersions(KEY), []);
      const expected: number[] = [];
      for (const version of Array.from({ length: 12 }).keys()) {
        await service.saveArtifact({ ...KEY, artifact: text('x') });
        expected.push(version);
        expect.same('the versions', await service.listVersions(KEY), expected);
      }
    },
  },
  {
    id: 'versions.known',
    title: 'Each version is described with its number, URI, MIME type, time and metadata, in ascending order.',
    async check({ service, platform, expect }) {
      const key = { ...KEY, filename: 'user:a b/ü.png' };
      expect.same('without the name', await service.listArtifactVersions(key), []);
      const created: number[] = [];
      for (const customMetadata of [{ by: 'tool', nested: { list: [1, null] } }, undefined, {}]) {
        created.push(platform.now() / 1000);
        await service.saveArtifact({ ...key, artifact: bytes([1], 'image/png'), customMetadata });
        platform.advance(1500);
      }
      const common = { mimeType: 'image/png' };
      expect.same('the versions', await service.listArtifactVersions(key), [
        {
          ...common,
          version: 0,
          canonicalUri: artifactUri(key, 0),
          createTime: created[0],
          customMetadata: { by: 'tool', nested: { list: [1, null] } },
        },
        { ...common, version: 1, canonicalUri: artifactUri(key, 1), createTime: created[1] },
        { ...common, version: 2, canonicalUri: artifactUri(key, 2), createTime: created[2], customMetadata: {} },
      ]);
    },
  },
  {
    id: 'versions.one-known',
    title:
      'A version is described by its number, or the latest without one; a version that does not exist is undefined.',
    async check({ service, platform, expect }) {
      expect.same('without the name', await service.getArtifactVersion(KEY), undefined);
      for (const value of ['zero', 'one']) {
        await service.saveArtifact({ ...KEY, artifact: text(value), customMetadata: { value } });
        platform.advance(1000);
      }
      const all = await service.listArtifactVersions(KEY);
      expect.same('the number of versions', all.length, 2);
      expect.same('the latest', await service.getArtifactVersion(KEY), all[1]);
      for (const version of [0, 1]) {
        expect.same(`version ${version}`, await service.getArtifactVersion({ ...KEY, version }), all[version]);
      }
      for (const version of [2, -1, 0.5]) {
        expect.same(`version ${version}`, await service.getArtifactVersion({ ...KEY, version }), undefined);
      }
    },
  },
  {
    id: 'versions.types',
    title: 'The MIME type of text is text/plain, and that of data without a type is application/octet-stream.',
    async check({ service, expect }) {
      const parts = [
        text('x'),
        { inlineData: { data: 'AAAA' } },
        bytes([1], 'image/webp'),
        { fileData: { fileUri: 'gs://a' } },
        { fileData: { fileUri: 'gs://a', mimeType: 'video/mp4' } },
      ];
      for (const artifact of parts) await service.saveArtifact({ ...KEY, artifact });
      const types = (await service.listArtifactVersions(KEY)).map(({ mimeType }) => mimeType);
      const unknown = 'application/octet-stream';
      expect.same('the types', types, ['text/plain', unknown, 'image/webp', unknown, 'video/mp4']);
    },
  },
  {
    id: 'delete.removes',
    title: 'Deleting removes every version of a filename.',
    async check({ service, expect }) {
      for (const filename of ['report.txt', 'user:report.txt']) {
        const key = { ...SESSION, filename };
        for (const value of ['zero', 'one']) await service.saveArtifact({ ...key, artifact: text(value) });
        await service.deleteArtifact(key);
        expect.same('the latest', await service.loadArtifact(key), undefined);
        for (const version of [0, 1]) {
          expect.same(`version ${version}`, await service.loadArtifact({ ...key, version }), undefined);
        }
        expect.same('the versions', await service.listVersions(key), []);
        expect.same('the descriptions of the versions', await service.listArtifactVersions(key), []);
        expect.same('the description of the latest version', await service.getArtifactVersion(key), undefined);
        expect.same('the names', await service.listArtifactKeys(SESSION), []);
      }
    },
  },
  {
    id: 'delete.numbers-continue',
    title: 'Version numbers are never used again: the first save after a deletion gets the next number.',
    async check({ service, expect }) {
      let next = 0;
      for (const saves of [2, 1, 3]) {
        for (let save = 0; save < saves; save++) {
          const version = await service.saveArtifact({ ...KEY, artifact: text(`version ${next}`) });
          expect.same('the version', version, next);
          next++;
        }
        expect.same('the latest', await service.loadArtifact(KEY), text(`version ${next - 1}`));
        expect.same('the number of versions', (await service.listVersions(KEY)).length, saves);
        await service.deleteArtifact(KEY);
        await service.deleteArtifact(KEY);
      }
    },
  },
  {
    id: 'delete.missing-is-no-op',
    title: 'Deleting a filename that does not exist is a no-op.',
    async check({ service, expect }) {
      await expect.fulfils('deleting a missing filename', service.deleteArtifact(KEY));
      expect.same('the names', await service.listArtifactKeys(SESSION), []);
      expect.same('the first version', await service.saveArtifact({ ...KEY, artifact: text('one') }), 0);
    },
  },
  {
    id: 'delete.touches-no-other',
    title: 'Deleting a filename does not change any other.',
    async check({ service, expect }) {
      const others = ['a/b', 'a/versions/0', 'ab', 'user:a', 'A', 'a.b', 'b'].map((filename) => ({
        ...SESSION,
        filename,
      }));
      const elsewhere = { ...SESSION, sessionId: 'another', filename: 'a' };
      for (const key of [{ ...SESSION, filename: 'a' }, ...others, elsewhere]) {
        for (const value of ['zero', 'one']) await service.saveArtifact({ ...key, artifact: text(value) });
      }
      await service.deleteArtifact({ ...SESSION, filename: 'a' });
      for (const key of [...others, elsewhere]) {
        expect.same(`the latest of ${key.filename}`, await service.loadArtifact(key), text('one'));
        expect.same(`the versions of ${key.filename}`, await service.listVersions(key), [0, 1]);
      }
    },
  },
];
