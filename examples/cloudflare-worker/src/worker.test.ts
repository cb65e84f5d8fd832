import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import worker, { AppStateObject, UserObject } from './worker.ts';

const nobody = { getByName: () => ({ fetch: () => Promise.reject(new Error('no object may be asked')) }) };
const env = {
  EVENTLOOM_USERS: nobody,
  EVENTLOOM_APPS: nobody,
  GEMINI_API_KEY: 'key',
  JWT_SECRET: 'a secret that is long enough for HS256',
};

test('the Worker answers /livez, and refuses requests without a token', async () => {
  const ask = (path: string) => worker.fetch(new Request(`https://my-agents.example${path}`), env);
  expect((await ask('/health')).status).toBe(200);
  expect((await ask('/list-apps')).status).toBe(401);
  expect((await ask('/apps/helper/users/ann/sessions')).status).toBe(401);
});

test('the token that the example prints is accepted', async () => {
  const options = { env: { ...process.env, JWT_SECRET: env.JWT_SECRET }, encoding: 'utf8' } as const;
  const token = execFileSync(process.execPath, [join(import.meta.dirname, '../token.ts'), 'bob'], options).trim();
  const ask = (path: string) =>
    worker.fetch(
      new Request(`https://my-agents.example${path}`, { headers: { authorization: `Bearer ${token}` } }),
      env,
    );
  expect(await (await ask('/list-apps')).json()).toEqual(['helper']);
  expect((await ask('/apps/helper/users/ann/sessions')).status).toBe(403);
});

test('without the secret no token is printed', () => {
  const { JWT_SECRET: _, ...environment } = { ...process.env, JWT_SECRET: '' };
  const print = () =>
    execFileSync(process.execPath, [join(import.meta.dirname, '../token.ts')], { env: environment, stdio: 'pipe' });
  expect(print).toThrow('JWT_SECRET is not set');
});

test('the classes of the bindings are exported', () => {
  expect([UserObject, AppStateObject].map((objectClass) => typeof objectClass)).toEqual(['function', 'function']);
});
