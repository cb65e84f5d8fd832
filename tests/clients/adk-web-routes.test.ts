import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { places, type Started } from './servers.ts';

const SESSIONS = '/apps/plain/users/routes/sessions';
const SESSION = `${SESSIONS}/routes`;
const DEV = '/dev/apps/plain';

describe.each(places)('every request that the sources of adk-web make to %s', (_place, start) => {
  let server: Started;
  let eventId = '';
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  beforeAll(async () => {
    server = await start();
    await send('POST', SESSION);
    const newMessage = { role: 'user', parts: [{ text: 'call save' }] };
    const run = await send('POST', '/run', { appName: 'plain', userId: 'routes', sessionId: 'routes', newMessage });
    const events = (await run.json()) as { readonly id: string }[];
    eventId = events[0]?.id ?? '';
  });
  afterAll(() => server.stop());

  test.each([
    ['GET', '/list-apps?relative_path=./'],
    ['GET', '/version'],
    ['GET', SESSIONS],
    ['GET', SESSION],
    ['GET', `${SESSION}/artifacts/note.txt`],
    ['GET', `${SESSION}/artifacts/note.txt/versions/0`],
    ['GET', `${DEV}/build_graph`],
    ['GET', `${DEV}/build_graph_image`],
    ['GET', `${DEV}/debug/trace/session/routes?user_id=routes`],
    ['GET', `${DEV}/debug/trace/{event}?user_id=routes`],
    ['GET', `${DEV}/users/routes/sessions/routes/events/{event}/graph`],
    ['GET', `${DEV}/builder?ts=1`],
    ['GET', `${DEV}/builder?ts=1&tmp=true`],
    ['GET', `${DEV}/builder?ts=1&file_path=root_agent.yaml&tmp=true`],
    ['GET', `${DEV}/eval_sets`],
    ['GET', `${DEV}/eval_sets/set/evals`],
    ['GET', `${DEV}/eval_results`],
    ['GET', `${DEV}/metrics-info`],
    ['GET', `${DEV}/tests`],
    ['GET', '/config/telemetry'],
    ['POST', SESSIONS, {}],
    ['PATCH', SESSION, { stateDelta: { seen: true } }],
  ])('%s %s succeeds', async (method, path, body?: object) => {
    const { status } = await send(method, path.replace('{event}', eventId), body);
    expect(status).toBe(200);
  });

  test.each([
    ['GET', `${DEV}/eval-sets/set`],
    ['GET', `${DEV}/eval_sets/set/evals/case`],
    ['GET', `${DEV}/eval_results/result`],
    ['GET', `${DEV}/tests/one`],
    ['POST', `${DEV}/eval-sets`],
    ['POST', `${DEV}/eval-sets/set/run`],
    ['POST', `${DEV}/eval_sets/set`],
    ['POST', `${DEV}/eval_sets/set/add_session`],
    ['POST', `${DEV}/eval_sets/set/run_eval`],
    ['POST', `${DEV}/tests/run`],
    ['POST', `${DEV}/tests/rebuild`],
    ['POST', `${DEV}/builder/save`],
    ['POST', `${DEV}/builder/save?tmp=true`],
    ['POST', `${DEV}/builder/cancel`],
    ['POST', '/config/telemetry'],
    ['POST', '/agent-identity/finalize'],
    ['DELETE', `${DEV}/eval-sets/set`],
    ['DELETE', `${DEV}/eval_sets/set`],
    ['DELETE', `${DEV}/eval_sets/set/evals/case`],
    ['DELETE', `${DEV}/tests/one`],
  ])('%s %s is refused as not supported', async (method, path) => {
    const response = await send(method, path, method === 'POST' ? {} : undefined);
    expect([response.status, await response.json()]).toMatchObject([501, { code: 'NOT_SUPPORTED' }]);
  });

  test.each([`${DEV}/eval_sets/set/evals/case`, `${DEV}/tests/one`])('PUT %s is refused', async (path) => {
    expect((await send('PUT', path, {})).status).toBe(405);
  });
});
