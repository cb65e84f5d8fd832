import { InvalidArtifactNameError, InvalidRequestError, type Part } from '@eventloom/core';
import type { ArtifactRule } from './artifact-rule.ts';
import { bytes, KEY, SESSION, text } from './samples.ts';

const BAD_FILENAMES: readonly string[] = [
  '',
  'user:',
  '/absolute',
  'user:/absolute',
  '..',
  '../up',
  'user:../up',
  'down/../up',
  'a/.',
  './a',
  'a//b',
  'a/',
  'a\\b',
  '..\\up',
  'a\0b',
  'a\ud800b',
  'n'.repeat(513),
  '€'.repeat(171),
];

const BAD_NAMES: readonly string[] = ['', 'a\0b', 'a\ud800b', 'n'.repeat(257), '€'.repeat(86)];

const NOTHING_TO_SAVE: Readonly<Record<string, Part>> = {
  'an empty part': {},
  'bytes without data': { inlineData: { mimeType: 'image/png' } },
  'a file without its address': { fileData: { mimeType: 'image/png' } },
  'a function call': { functionCall: { name: 'tool', args: {} } },
};

/** Rules about the numbers and the contents of saved versions. */
export const saveRules: readonly ArtifactRule[] = [
  {
    id: 'save.counts-versions',
    title: 'The first version of a filename is 0, and each save returns the next number.',
    async check({ service, expect }) {
      for (const version of Array.from({ length: 12 }).keys()) {
        const saved = await service.saveArtifact({ ...KEY, artifact: text(`version ${version}`) });
        expect.same('the version', saved, version);
      }
      expect.same('another name', await service.saveArtifact({ ...KEY, filename: 'b', artifact: text('b') }), 0);
    },
  },
  {
    id: 'save.concurrent',
    title: 'Concurrent saves of one filename get consecutive numbers, and none overwrites another.',
    async check({ service, expect }) {
      const numbers = Array.from({ length: 8 }, (_, number) => number);
      const saves = numbers.map((number) => service.saveArtifact({ ...KEY, artifact: text(`save ${number}`) }));
      const versions = await expect.fulfils('the saves', Promise.all(saves));
      expect.same(
        'the versions',
        versions.toSorted((a, b) => a - b),
        numbers,
      );
      for (const [number, version] of versions.entries()) {
        const part = await service.loadArtifact({ ...KEY, version });
        expect.same(`version ${version}`, part, text(`save ${number}`));
      }
    },
  },
  {
    id: 'save.nothing-refused',
    title: 'A part without content is refused and uses no version number.',
    async check({ service, expect }) {
      for (const [what, artifact] of Object.entries(NOTHING_TO_SAVE)) {
        await expect.rejects(what, service.saveArtifact({ ...KEY, artifact }), InvalidRequestError);
      }
      expect.same('the names', await service.listArtifactKeys(SESSION), []);
      expect.same('the next version', await service.saveArtifact({ ...KEY, artifact: text('one') }), 0);
    },
  },
  {
    id: 'save.bad-base64-refused',
    title: 'Data that is not base64 is refused and uses no version number.',
    async check({ service, expect }) {
      for (const data of ['A', 'AAAAA', 'AA=A', 'A===', 'AAA==', 'AA=', 'ä', 'AAAA*', '====', '\0']) {
        const artifact = { inlineData: { mimeType: 'image/png', data } };
        await expect.rejects(JSON.stringify(data), service.saveArtifact({ ...KEY, artifact }), InvalidRequestError);
      }
      expect.same('the next version', await service.saveArtifact({ ...KEY, artifact: text('one') }), 0);
    },
  },
  {
    id: 'save.check',
    title: 'checkSave, in a service that has it, refuses the parts that saveArtifact refuses, and saves nothing.',
    async check({ service, expect }) {
      if (!service.checkSave) return;
      for (const [what, artifact] of Object.entries(NOTHING_TO_SAVE)) {
        await expect.rejects(what, service.checkSave({ ...KEY, artifact }), InvalidRequestError);
      }
      await expect.fulfils('a text', service.checkSave({ ...KEY, artifact: text('one') }));
      expect.same('the names', await service.listArtifactKeys(SESSION), []);
      expect.same('the next version', await service.saveArtifact({ ...KEY, artifact: text('one') }), 0);
    },
  },
  {
    id: 'save.bad-metadata-refused',
    title: 'Metadata that is not JSON is refused and uses no version number.',
    async check({ service, expect }) {
      for (const value of [new Set([1]), 1n, () => 1, Number.NaN, { deep: [new Map()] }]) {
        const save = service.saveArtifact({ ...KEY, artifact: text('one'), customMetadata: { value } });
        await expect.rejects(typeof value, save, InvalidRequestError);
      }
      expect.same('the next version', await service.saveArtifact({ ...KEY, artifact: text('one') }), 0);
    },
  },
  {
    id: 'save.bad-filenames-refused',
    title:
      'Every method refuses a filename that is empty, absolute, too long, malformed or has a .. segment, and changes nothing.',
    async check({ service, expect }) {
      for (const filename of BAD_FILENAMES) {
        const key = { ...KEY, filename };
        const calls: Readonly<Record<string, () => Promise<unknown>>> = {
          saveArtifact: () => service.saveArtifact({ ...key, artifact: text('one') }),
          loadArtifact: () => service.loadArtifact(key),
          listVersions: () => service.listVersions(key),
          listArtifactVersions: () => service.listArtifactVersions(key),
          getArtifactVersion: () => service.getArtifactVersion(key),
          deleteArtifact: () => service.deleteArtifact(key),
        };
        for (const [method, call] of Object.entries(calls)) {
          const what = `${method} of ${JSON.stringify(filename.slice(0, 20))}`;
          await expect.rejects(what, call(), InvalidArtifactNameError);
        }
      }
      expect.same('the names', await service.listArtifactKeys(SESSION), []);
    },
  },
  {
    id: 'save.bad-names-refused',
    title:
      'An app, user or session name that is empty, too long, malformed or contains NUL is InvalidRequestError with the name of the field.',
    async check({ service, expect }) {
      for (const bad of BAD_NAMES) {
        for (const field of ['appName', 'userId', 'sessionId'] as const) {
          const key = { ...KEY, [field]: bad };
          const calls: Readonly<Record<string, () => Promise<unknown>>> = {
            saveArtifact: () => service.saveArtifact({ ...key, artifact: text('one') }),
            loadArtifact: () => service.loadArtifact(key),
            listArtifactKeys: () => service.listArtifactKeys(key),
            deleteArtifact: () => service.deleteArtifact(key),
          };
          for (const [method, call] of Object.entries(calls)) {
            const error = await expect.rejects(`${method} with a bad ${field}`, call(), InvalidRequestError);
            expect.true(`the message of ${method} names ${field}`, error.message.includes(field));
          }
        }
      }
    },
  },
  {
    id: 'save.own-copy',
    title: 'Changing a part or its metadata after the save does not change the stored one.',
    async check({ service, expect }) {
      const artifact = { ...bytes([1, 2, 3], 'image/png'), partMetadata: { list: [1] } };
      const customMetadata = { list: [1] };
      await service.saveArtifact({ ...KEY, artifact, customMetadata });
      Object.assign(artifact.inlineData ?? {}, { data: 'AAAA', mimeType: 'text/html' });
      artifact.partMetadata.list.push(2);
      customMetadata.list.push(2);
      const expected = { ...bytes([1, 2, 3], 'image/png'), partMetadata: { list: [1] } };
      expect.same('the part', await service.loadArtifact(KEY), expected);
      expect.same('the metadata', (await service.getArtifactVersion(KEY))?.customMetadata, { list: [1] });
    },
  },
];
