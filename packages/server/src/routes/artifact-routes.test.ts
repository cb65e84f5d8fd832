import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { BaseArtifactService, SaveArtifactRequest, SessionKey } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { KEY, SESSION, serverScenario } from '../fixtures/server-scenario.ts';

const ARTIFACTS = `${SESSION}/artifacts`;

interface Setup {
  readonly send: (method: string, path: string, body?: unknown) => Promise<readonly [number, unknown]>;
  readonly save: (filename: string, text: string) => Promise<number>;
}

async function setUp(
  hasArtifacts = true,
  artifactService: BaseArtifactService = new InMemoryArtifactService(),
): Promise<Setup> {
  const { send } = await serverScenario({ runner: hasArtifacts ? { artifactService } : {} });
  return {
    send: async (method, path, body) => {
      const response = await send(method, path, body);
      return [response.status, await response.json()];
    },
    save: (filename, text) => artifactService.saveArtifact({ ...KEY, filename, artifact: { text } }),
  };
}

describe('artifacts', () => {
  test('are listed, loaded in any version, and deleted', async () => {
    const { send, save } = await setUp();
    await save('a.txt', 'one');
    await save('a.txt', 'two');
    await save('user:b.txt', 'three');
    expect(await send('GET', ARTIFACTS)).toEqual([200, ['a.txt', 'user:b.txt']]);
    expect(await send('GET', `${ARTIFACTS}/a.txt`)).toEqual([200, { text: 'two' }]);
    expect(await send('GET', `${ARTIFACTS}/a.txt?version=0`)).toEqual([200, { text: 'one' }]);
    expect(await send('GET', `${ARTIFACTS}/a.txt/versions`)).toEqual([200, [0, 1]]);
    expect(await send('GET', `${ARTIFACTS}/a.txt/versions/0`)).toEqual([200, { text: 'one' }]);
    expect(await send('GET', `${ARTIFACTS}/user%3Ab.txt`)).toEqual([200, { text: 'three' }]);
    expect(await send('DELETE', `${ARTIFACTS}/a.txt`)).toEqual([200, null]);
    expect(await send('GET', ARTIFACTS)).toEqual([200, ['user:b.txt']]);
  });

  test('are saved as new versions', async () => {
    const { send } = await setUp();
    const artifact = { inlineData: { mimeType: 'image/png', data: 'AAEC' } };
    const save = (body: unknown): Promise<readonly [number, unknown]> => send('POST', ARTIFACTS, body);
    const canonicalUri = 'artifact://apps/app/users/ann/sessions/s/artifacts/a%2Fb.png/versions/0';
    expect(await save({ filename: 'a/b.png', artifact, customMetadata: { from: 'camera' } })).toEqual([
      200,
      {
        version: 0,
        canonicalUri,
        mimeType: 'image/png',
        createTime: expect.any(Number),
        customMetadata: { from: 'camera' },
      },
    ]);
    const inline_data = { mime_type: 'text/plain', data: 'aGk=' };
    expect(await save({ filename: 'a/b.png', artifact: { inline_data } })).toMatchObject([200, { version: 1 }]);
    expect(await save({ filename: 'user:c.txt', artifact: { text: 'hi' } })).toMatchObject([200, { version: 0 }]);
    expect(await send('GET', ARTIFACTS)).toEqual([200, ['a/b.png', 'user:c.txt']]);
    expect(await send('GET', `${ARTIFACTS}/a%2Fb.png?version=0`)).toEqual([200, artifact]);
    expect(await send('GET', `${ARTIFACTS}/a%2Fb.png`)).toEqual([
      200,
      { inlineData: { mimeType: 'text/plain', data: 'aGk=' } },
    ]);
  });

  test.each([
    [{ artifact: { text: 'hi' } }, 'filename: '],
    [{ filename: 'a', artifact: 'hi' }, 'artifact: expected an object'],
    [{ filename: 'a', artifact: { functionCall: { name: 'f' } } }, 'artifact: has neither inlineData'],
    [{ filename: 'a', artifact: { inlineData: { data: '%' } } }, 'artifact.inlineData.data: expected base64 text'],
    [{ filename: '../a', artifact: { text: 'hi' } }, 'artifact name'],
    [{ filename: 'a', artifact: { text: 'hi' }, metadata: {} }, 'did you mean "customMetadata"?'],
  ])('are refused with the body %j', async (body, message) => {
    const { send } = await setUp();
    expect(await send('POST', ARTIFACTS, body)).toMatchObject([400, { error: expect.stringContaining(message) }]);
    expect(await send('GET', ARTIFACTS)).toEqual([200, []]);
  });

  test('are not saved without a session or an artifact service', async () => {
    const body = { filename: 'a', artifact: { text: 'hi' } };
    const { send } = await setUp();
    const other = ARTIFACTS.replace('/s/', '/t/');
    expect(await send('POST', other, body)).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
    const without = await setUp(false);
    expect(await without.send('POST', ARTIFACTS, body)).toMatchObject([
      400,
      { error: 'artifacts: app "app" keeps none; give its Runner an artifactService' },
    ]);
  });

  test('that are saved after their session was deleted are deleted', async () => {
    class SlowArtifacts extends InMemoryArtifactService {
      override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
        await send('DELETE', SESSION);
        return super.saveArtifact(request);
      }
    }
    const { send } = await setUp(true, new SlowArtifacts());
    const body = { filename: 'a', artifact: { text: 'hi' } };
    expect(await send('POST', ARTIFACTS, body)).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
    expect(await send('POST', SESSION)).toMatchObject([200, { id: 's' }]);
    expect(await send('GET', ARTIFACTS)).toEqual([200, []]);
  });

  test('that are saved while their session is being deleted are deleted with it', async () => {
    let isSaved = false;
    class SlowArtifacts extends InMemoryArtifactService {
      override async listArtifactKeys(key: SessionKey): Promise<string[]> {
        const names = await super.listArtifactKeys(key);
        if (!isSaved) await this.saveArtifact({ ...key, filename: 'a', artifact: { text: 'hi' } });
        isSaved = true;
        return names;
      }
    }
    const { send } = await setUp(true, new SlowArtifacts());
    expect(await send('DELETE', SESSION)).toEqual([200, null]);
    expect(isSaved).toBe(true);
    expect(await send('POST', SESSION)).toMatchObject([200, { id: 's' }]);
    expect(await send('GET', ARTIFACTS)).toEqual([200, []]);
  });

  test('of a session are deleted with it, and those of its user are kept', async () => {
    const { send, save } = await setUp();
    await save('a.txt', 'one');
    await save('folder/b.txt', 'two');
    await save('user:c.txt', 'three');
    expect(await send('DELETE', SESSION)).toEqual([200, null]);
    expect(await send('POST', SESSION)).toMatchObject([200, { id: 's' }]);
    expect(await send('GET', ARTIFACTS)).toEqual([200, ['user:c.txt']]);
  });

  test('that do not exist are named in a short message', async () => {
    const { send } = await setUp(false);
    const [status, body] = await send('GET', `${ARTIFACTS}/${'x'.repeat(5000)}`);
    expect([status, JSON.stringify(body).length < 300]).toEqual([404, true]);
  });

  test.each(['folder/a b.txt', 'ä.txt', '100%.txt', '__proto__', '日本.txt'])('can be named %j', async (name) => {
    const { send, save } = await setUp();
    await save(name, 'it');
    expect(await send('GET', `${ARTIFACTS}/${encodeURIComponent(name)}`)).toEqual([200, { text: 'it' }]);
  });

  test.each(['..%2f..%2fetc%2fpasswd', '%2fetc', 'a%2f%2fb', 'a%00b', 'a%5cb', 'user%3A..%2fx'])(
    'cannot be named %s',
    async (name) => {
      const { send } = await setUp();
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/versions'],
        ['GET', '/versions/0'],
        ['DELETE', ''],
      ] as const) {
        const answer = await send(method, `${ARTIFACTS}/${name}${path}`);
        expect(answer).toEqual([
          400,
          { error: expect.stringContaining('artifact name'), code: 'INVALID_ARTIFACT_NAME' },
        ]);
      }
    },
  );

  test.each(['/versions/x', '/versions/-1', '/versions/1.5', '?version=x'])('have no version %s', async (path) => {
    const { send } = await setUp();
    expect((await send('GET', `${ARTIFACTS}/a.txt${path}`))[0]).toBe(400);
  });

  test('that do not exist are answered with 404', async () => {
    const { send, save } = await setUp();
    await save('a.txt', 'one');
    const gone = { error: expect.stringMatching(/./), code: 'ARTIFACT_NOT_FOUND' };
    expect(await send('GET', `${ARTIFACTS}/b.txt`)).toEqual([404, gone]);
    expect(await send('GET', `${ARTIFACTS}/a.txt/versions/7`)).toEqual([404, gone]);
    expect(await send('GET', `${ARTIFACTS}/b.txt/versions`)).toEqual([200, []]);
    expect(await send('DELETE', `${ARTIFACTS}/b.txt`)).toEqual([200, null]);
  });

  test('of a session that does not exist are answered with 404', async () => {
    const { send } = await setUp();
    const [status, body] = await send('GET', ARTIFACTS.replace('/s/', '/t/'));
    expect([status, body]).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
  });

  test('are an empty list without an artifact service', async () => {
    const { send } = await setUp(false);
    expect(await send('GET', ARTIFACTS)).toEqual([200, []]);
    expect(await send('GET', `${ARTIFACTS}/a.txt`)).toMatchObject([404, { code: 'ARTIFACT_NOT_FOUND' }]);
  });
});
