import { createTestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { lastIdOf, SseText } from './fixtures/sse-text.ts';
import { startServingProcess } from './fixtures/start-serving-process.ts';

async function startRun(url: string): Promise<{ readonly reader: SseText; readonly path: string }> {
  const newMessage = { parts: [{ text: 'hi' }] };
  const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage, streaming: true });
  const response = await fetch(`${url}/run_sse`, { method: 'POST', headers: { 'eventloom-event-ids': '1' }, body });
  const path = `/apps/app/users/ann/sessions/s/runs/${response.headers.get('Eventloom-Invocation-Id')}`;
  return { reader: new SseText(response), path };
}

/** Ends the leases of a process that was killed, as time does. A living one renews those that it needs. */
async function endLeases(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url });
  await pool.query('DELETE FROM eventloom_relay_hosts; UPDATE eventloom_sessions SET lease_until = 0');
  await pool.end();
}

test('a client switches to another process during a run and cancels the run there', async () => {
  const database = await createTestDatabase();
  try {
    await using a = await startServingProcess(database.url);
    await using b = await startServingProcess(database.url);
    const { reader, path } = await startRun(a.url);
    const seen = await reader.until('"two "');
    await reader.drop();
    const here = new SseText(await fetch(`${b.url}${path}`, { headers: { 'last-event-id': lastIdOf(seen) } }));
    const cancelled = await fetch(`${b.url}${path}`, { method: 'DELETE' });
    expect([cancelled.status, await cancelled.json()]).toEqual([200, null]);
    const rest = await here.rest();
    expect(rest).toContain('data: {"error":"the run was cancelled","code":"RUN_ABORTED"}');
    expect(seen + rest).toBe(await (await fetch(`${a.url}${path}`)).text());
  } finally {
    await database.drop();
  }
});

test('a run that starts in one process is continued and completed by another', async () => {
  const database = await createTestDatabase();
  try {
    await using a = await startServingProcess(database.url);
    await using b = await startServingProcess(database.url);
    const { reader, path } = await startRun(a.url);
    const here = new SseText(await fetch(`${b.url}${path}`));
    await here.until('"two "');
    a.proceed();
    expect(await here.rest()).toBe(await reader.rest());
  } finally {
    await database.drop();
  }
});

test('a killed process leaves its frames and RUN_GOES_ON, and another one continues the run', async () => {
  const database = await createTestDatabase();
  try {
    await using a = await startServingProcess(database.url);
    await using b = await startServingProcess(database.url);
    const { reader, path } = await startRun(a.url);
    const here = new SseText(await fetch(`${b.url}${path}`));
    const seen = await here.until('"two "');
    await a.kill();
    await endLeases(database.url);
    await reader.rest().catch(() => undefined);
    const rest = (await here.rest()).slice(seen.length);
    expect(rest).toMatch(/^retry: 2000\n\ndata: \{"error":".*","code":"RUN_GOES_ON","run":"\/apps\/[^"]*"\}\n\n$/);
    b.proceed();
    const headers = { 'last-event-id': lastIdOf(seen) };
    const read = async (): Promise<string> => (await fetch(`${b.url}${path}`, { headers })).text();
    await expect.poll(read).toMatch(/"one two three"(?!.*RUN_GOES_ON)/s);
  } finally {
    await database.drop();
  }
});

test('a follower of a killed process reaches the process that continues the run, even without a new request', async () => {
  const database = await createTestDatabase();
  try {
    await using a = await startServingProcess(database.url, 100);
    // It resumes the run as soon as the lease of the killed process is over, maybe before it finds that the process is gone.
    await using b = await startServingProcess(database.url, 100);
    const { reader, path } = await startRun(a.url);
    const here = new SseText(await fetch(`${b.url}${path}`));
    const seen = await here.until('"two "');
    await a.kill();
    await endLeases(database.url);
    await reader.rest().catch(() => undefined);
    b.proceed();
    const rest = (await here.rest()).slice(seen.length);
    expect(rest).toMatch(/"one two three"|"code":"RUN_GOES_ON"/);
    const headers = { 'last-event-id': lastIdOf(seen) };
    const read = async (): Promise<string> => (await fetch(`${b.url}${path}`, { headers })).text();
    await expect.poll(read).toMatch(/"one two three"(?!.*RUN_GOES_ON)/s);
  } finally {
    await database.drop();
  }
});
