import { expect, test } from 'vitest';
import type { StoredArtifact } from '../artifact-driver.ts';
import { fromR2Version, toR2Version } from './r2-version.ts';

function versionWith(note: string, data?: string): StoredArtifact {
  const part = data === undefined ? { text: note } : { inlineData: { mimeType: 'image/png', data: '' } };
  return { record: { part, mimeType: 'image/png', createTime: 1.5, customMetadata: { note } }, data };
}

const NOTES = ['', 'é', '💡 \u007f', '"\\', '\ud800', 'x'.repeat(2000), '名'.repeat(2000), 'x'.repeat(100_000)];

test('a version is read from its object unchanged', () => {
  for (const note of NOTES) {
    for (const data of [undefined, '', 'AAEC/w==']) {
      const version = versionWith(note, data);
      expect(fromR2Version(toR2Version(version))).toEqual(version);
    }
  }
});

test('metadata is ASCII and fits the limit', () => {
  for (const note of NOTES) {
    const { customMetadata } = toR2Version(versionWith(note, 'AAEC'));
    const written = Object.entries(customMetadata).flat().join('');
    expect(written).toMatch(/^[\x20-\x7e]*$/);
    expect(written.length).toBeLessThanOrEqual(8192);
  }
});

test('bytes are stored unchanged at the start of the body', () => {
  for (const note of NOTES) {
    const { body } = toR2Version(versionWith(note, 'AAEC/w=='));
    expect([...body.subarray(0, 4)]).toEqual([0, 1, 2, 255]);
  }
});
