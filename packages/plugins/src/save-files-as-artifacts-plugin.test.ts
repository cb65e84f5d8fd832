import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { ArtifactVersion, Content, LoadArtifactRequest, Part } from '@eventloom/core';
import { expect, test } from 'vitest';
import { KEY, play } from './fixtures/play.ts';
import { SaveFilesAsArtifactsPlugin } from './save-files-as-artifacts-plugin.ts';

function file(displayName?: string, data = 'aGk='): Part {
  return { inlineData: { mimeType: 'text/plain', data, ...(displayName !== undefined && { displayName }) } };
}

function message(...parts: Part[]): Content {
  return { role: 'user', parts };
}

test('the plugin saves the files of a message, and replaces them by their names', async () => {
  const { run, artifactService, model } = await play({
    plugins: [new SaveFilesAsArtifactsPlugin()],
    model: ['Thanks.'],
  });
  const events = await run(message({ text: 'See:' }, file('a.txt'), file()));
  const [first] = events;
  const generated = `artifact_${first?.invocationId}_2`;
  expect(model.requests[0]?.request.contents[0]?.parts).toEqual([
    { text: 'See:' },
    { text: '[Uploaded Artifact: "a.txt"]' },
    { text: `[Uploaded Artifact: "${generated}"]` },
  ]);
  expect(await artifactService.listArtifactKeys(KEY)).toEqual(['a.txt', generated]);
  expect(await artifactService.loadArtifact({ ...KEY, filename: 'a.txt' })).toMatchObject({
    inlineData: { data: 'aGk=' },
  });
  expect(Object.assign({}, ...events.map(({ actions }) => actions.artifactDelta))).toEqual({
    'a.txt': 0,
    [generated]: 0,
  });
});

test('a message without files stays unchanged', async () => {
  const { run, model } = await play({ plugins: [new SaveFilesAsArtifactsPlugin()], model: ['Hi.'] });
  await run();
  expect(model.requests[0]?.request.contents[0]?.parts).toEqual([{ text: 'hi' }]);
});

/** Stores files at addresses that models can read. */
class BucketService extends InMemoryArtifactService {
  override async getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    const version = await super.getArtifactVersion(request);
    return version && { ...version, canonicalUri: `gs://bucket/${request.filename}` };
  }
}

test.each([true, false])(
  'attachFileReference %s decides whether the model gets an address',
  async (attachFileReference) => {
    const { run, model } = await play({
      plugins: [new SaveFilesAsArtifactsPlugin({ attachFileReference })],
      model: ['Hi.'],
      artifactService: new BucketService(),
    });
    await run(message(file('a.txt')));
    const [, reference] = model.requests[0]?.request.contents[0]?.parts ?? [];
    expect(reference).toEqual(
      attachFileReference
        ? { fileData: { fileUri: 'gs://bucket/a.txt', displayName: 'a.txt', mimeType: 'text/plain' } }
        : undefined,
    );
  },
);

test('a file of more than 20 MiB is not saved', async () => {
  const plugin = new SaveFilesAsArtifactsPlugin();
  const { artifactService, run, model } = await play({ plugins: [plugin], model: ['Hi.'] });
  await run(message(file('big.txt', 'A'.repeat(28 * 1024 * 1024))));
  expect(model.requests[0]?.request.contents[0]?.parts).toEqual([
    { text: '[Upload Error: big.txt has 21.0 MB; at most 20 MB can be uploaded.]' },
  ]);
  expect(await artifactService.listArtifactKeys(KEY)).toEqual([]);
});

test('a file that cannot be saved is reported and stays in the message', async () => {
  const { run, model, platform } = await play({ plugins: [new SaveFilesAsArtifactsPlugin()], model: ['Hi.'] });
  await run(message(file('user:')));
  expect(model.requests[0]?.request.contents[0]?.parts).toMatchObject([{ inlineData: { data: 'aGk=' } }]);
  await expect(platform.drain()).rejects.toMatchObject({ code: 'INVALID_ARTIFACT_NAME' });
});

test('a missing artifact service is reported, and the file stays in the message', async () => {
  const { run, model, platform } = await play({
    plugins: [new SaveFilesAsArtifactsPlugin()],
    model: ['Hi.'],
    artifactService: undefined,
  });
  await run(message(file('a.txt')));
  expect(model.requests[0]?.request.contents[0]?.parts).toMatchObject([{ inlineData: { data: 'aGk=' } }]);
  await expect(platform.drain()).rejects.toThrow(
    'save_files_as_artifacts_plugin: the runner has no artifactService; write artifactService: new InMemoryArtifactService() in its options',
  );
});
