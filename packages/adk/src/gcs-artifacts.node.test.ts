import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { googleTokens } from './node/services.ts';
import { AdkGcsArtifactService, getArtifactServiceFromUri } from './services.ts';
import { openGcsArtifacts } from './web/runtime.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's', filename: 'a.txt' };

async function listening(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url, [Symbol.dispose]: close };
}

/** A bucket without objects, which records its requests. */
async function emptyBucket() {
  const asked: unknown[] = [];
  const server = await listening((request, response) => {
    asked.push([request.url?.split('?', 1)[0], request.headers.authorization]);
    if (/\/o\/./.test(request.url ?? '')) response.statusCode = 404;
    response.end('{}');
  });
  return { asked, url: server.url, [Symbol.dispose]: server[Symbol.dispose] };
}

test('a GcsArtifactService of the ADK sends requests to the bucket that it names, with the token of the program', async () => {
  using bucket = await emptyBucket();
  const service = new AdkGcsArtifactService('my-files', {
    projectId: 'p',
    apiEndpoint: bucket.url,
    accessToken: () => 'secret',
  });
  expect(await service.listVersions(KEY)).toEqual([]);
  expect(bucket.asked[0]).toEqual(['/storage/v1/b/my-files/o', 'Bearer secret']);
});

test('gs:// opens the bucket of an emulator without credentials', async () => {
  using bucket = await emptyBucket();
  process.env['STORAGE_EMULATOR_HOST'] = bucket.url.slice('http://'.length);
  try {
    expect(await getArtifactServiceFromUri('gs://my-files').listVersions(KEY)).toEqual([]);
  } finally {
    delete process.env['STORAGE_EMULATOR_HOST'];
  }
  expect(bucket.asked[0]).toEqual(['/storage/v1/b/my-files/o', undefined]);
});

/** The folder of Google's library for credentials, which is installed beside the client of Gemini. */
const gemini = createRequire(new URL('../../gemini/src/index.ts', import.meta.url));
const library = dirname(createRequire(gemini.resolve('@google/genai')).resolve('google-auth-library'));

test('credentials of a file become tokens through the library of Google', async () => {
  let count = 0;
  using tokens = await listening((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: `token-${count++}`, expires_in: 3600, token_type: 'Bearer' }));
  });
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const file = join(folder, 'subject.txt');
  writeFileSync(file, 'subject');
  const keyFilename = join(folder, 'key.json');
  const key = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: tokens.url,
    credential_source: { file },
  };
  writeFileSync(keyFilename, JSON.stringify(key));
  const token = googleTokens({ projectId: 'p', keyFilename }, library);
  try {
    expect([await token(), await token()]).toEqual(['token-0', 'token-0']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('missing credentials and a missing library are refused with an error that says what to write', async () => {
  await expect(googleTokens({ keyFilename: join(tmpdir(), 'nothing.json') }, library)()).rejects.toThrow(
    'set GOOGLE_APPLICATION_CREDENTIALS',
  );
  // A package without exports counts as missing. An empty folder does not, because Node also searches the folders of NODE_PATH.
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const empty = join(folder, 'node_modules/google-auth-library');
  mkdirSync(empty, { recursive: true });
  writeFileSync(join(empty, 'package.json'), '{"exports":{}}');
  const token = googleTokens({}, folder);
  await expect(token().finally(() => rmSync(folder, { recursive: true }))).rejects.toThrow(
    'npm install google-auth-library',
  );
});

test('options that do not exist, and a bucket without tokens outside Node, are refused', () => {
  expect(() => new AdkGcsArtifactService('my-files', { projectID: 'p' } as never)).toThrow('did you mean "projectId"?');
  expect(() => new AdkGcsArtifactService('')).toThrow(ConfigurationError);
  expect(() => openGcsArtifacts('my-files')).toThrow('accessToken is missing');
  const accessToken = (): string => 'secret';
  expect(openGcsArtifacts('my-files', { accessToken })).toHaveProperty('saveArtifact');
});
