import type { ArtifactRule } from './artifact-rule.ts';
import { bytes, KEY, text } from './samples.ts';

const EVERY_BYTE = Array.from({ length: 256 }, (_, byte) => byte);

/** Rules about loading saved artifacts. */
export const loadRules: readonly ArtifactRule[] = [
  {
    id: 'load.latest',
    title: 'Loading without a version returns the latest one.',
    async check({ service, expect }) {
      for (const version of Array.from({ length: 12 }).keys()) {
        await service.saveArtifact({ ...KEY, artifact: text(`version ${version}`) });
        expect.same('the part', await service.loadArtifact(KEY), text(`version ${version}`));
      }
    },
  },
  {
    id: 'load.version',
    title: 'Loading with a version returns that one, including 0.',
    async check({ service, expect }) {
      for (const value of ['zero', 'one', 'two']) await service.saveArtifact({ ...KEY, artifact: text(value) });
      for (const [version, value] of ['zero', 'one', 'two'].entries()) {
        expect.same('the part', await service.loadArtifact({ ...KEY, version }), text(value));
      }
    },
  },
  {
    id: 'load.missing-is-undefined',
    title: 'Loading a name or a version that does not exist returns undefined.',
    async check({ service, expect }) {
      expect.same('a missing name', await service.loadArtifact(KEY), undefined);
      expect.same('version 0 of a missing name', await service.loadArtifact({ ...KEY, version: 0 }), undefined);
      await service.saveArtifact({ ...KEY, artifact: text('zero') });
      for (const version of [1, -1, 0.5, Number.NaN, 1e300]) {
        expect.same(`version ${version}`, await service.loadArtifact({ ...KEY, version }), undefined);
      }
    },
  },
  {
    id: 'load.text',
    title: 'Text is loaded unchanged.',
    async check({ service, expect }) {
      for (const value of ['plain', '', ' \n\ttail ', '\ufeffmark', '名前 ✅ \0 \u2028', 'half \ud800 pair', '"{}\\']) {
        await service.saveArtifact({ ...KEY, artifact: text(value) });
        expect.same('the part', await service.loadArtifact(KEY), text(value));
      }
    },
  },
  {
    id: 'load.bytes',
    title: 'Bytes are loaded unchanged as standard base64 with padding, including every byte value and empty data.',
    async check({ service, expect }) {
      for (const values of [EVERY_BYTE, [], [0], [255, 254], [1, 2, 3], [32, 10, 65, 9], EVERY_BYTE.slice(1)]) {
        await service.saveArtifact({ ...KEY, artifact: bytes(values, 'image/png') });
        expect.same(`${values.length} bytes`, await service.loadArtifact(KEY), bytes(values, 'image/png'));
      }
    },
  },
  {
    id: 'load.base64-forms',
    title:
      'Data is saved from both base64 alphabets, with or without padding, and loaded as standard base64 with padding.',
    async check({ service, expect }) {
      const standard = bytes([251, 255, 191, 62, 63]).inlineData?.data ?? '';
      const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
      expect.different('the alphabets', urlSafe, standard);
      const forms = [standard, urlSafe, standard.replaceAll('=', ''), urlSafe.replaceAll('=', '')];
      for (const data of forms) {
        await service.saveArtifact({ ...KEY, artifact: { inlineData: { mimeType: 'image/png', data } } });
        expect.same(`the data of ${data}`, (await service.loadArtifact(KEY))?.inlineData?.data, standard);
      }
      for (const [data, expected] of [
        ['QQ', 'QQ=='],
        ['QR==', 'QQ=='],
        ['QUJ', 'QUI='],
        ['QUJD', 'QUJD'],
      ] as const) {
        await service.saveArtifact({ ...KEY, artifact: { inlineData: { data } } });
        expect.same(`the data of ${data}`, await service.loadArtifact(KEY), { inlineData: { data: expected } });
      }
    },
  },
  {
    id: 'load.file-data',
    title: 'File data is loaded with the URI that it was saved with.',
    async check({ service, expect }) {
      const artifact = { fileData: { fileUri: 'gs://bucket/a b?c#d', mimeType: 'video/mp4', displayName: 'Ä film' } };
      await service.saveArtifact({ ...KEY, artifact });
      expect.same('the part', await service.loadArtifact(KEY), artifact);
    },
  },
  {
    id: 'load.other-fields',
    title: 'The other fields of a part are loaded unchanged.',
    async check({ service, expect }) {
      const artifact = {
        ...bytes([1, 2], 'video/mp4'),
        videoMetadata: { fps: 24.5, startOffset: '1s' },
        partMetadata: { nested: { list: [null, 1, '名'] } },
        thought: true,
        thoughtSignature: 'AQI',
      };
      Object.assign(artifact.inlineData ?? {}, { displayName: 'Ä clip' });
      await service.saveArtifact({ ...KEY, artifact });
      expect.same('the part', await service.loadArtifact(KEY), artifact);
    },
  },
  {
    id: 'load.big',
    title: 'A part of 2 MB is loaded unchanged.',
    async check({ service, expect }) {
      const big = bytes(
        Array.from({ length: 2_000_000 }, (_, index) => (index * 31) % 251),
        'audio/wav',
      );
      await service.saveArtifact({ ...KEY, artifact: big });
      const part = await service.loadArtifact(KEY);
      expect.true('the data', part?.inlineData?.data === big.inlineData?.data);
      expect.same('the type', part?.inlineData?.mimeType, 'audio/wav');
      await service.saveArtifact({ ...KEY, artifact: text('x'.repeat(2_000_000)) });
      expect.same('the length of a text', (await service.loadArtifact(KEY))?.text?.length, 2_000_000);
    },
  },
  {
    id: 'load.own-copy',
    title: 'Changing a loaded part does not change the stored one.',
    async check({ service, expect }) {
      const artifact = { ...bytes([1, 2, 3]), partMetadata: { list: [1] } };
      await service.saveArtifact({ ...KEY, artifact, customMetadata: { list: [1] } });
      const part = await service.loadArtifact(KEY);
      Object.assign(part?.inlineData ?? {}, { data: 'AAAA' });
      (part?.partMetadata?.['list'] as number[] | undefined)?.push(2);
      const known = await service.getArtifactVersion(KEY);
      (known?.customMetadata?.['list'] as number[] | undefined)?.push(2);
      expect.same('the part', await service.loadArtifact(KEY), artifact);
      expect.same('the metadata', (await service.getArtifactVersion(KEY))?.customMetadata, { list: [1] });
    },
  },
];
