import { createEvent } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { InMemoryRunRelay, RunNetwork } from '../conformance/in-memory-run-relay.ts';
import type { EventloomServer } from '../create-server.ts';
import { setUp as setUpRuns } from './fixtures/left-runs.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const RUNS = '/apps/app/users/ann/sessions/s/runs';
const newMessage = { parts: [{ text: 'hi' }] };

/** Two servers on one storage, of which only the first has a model. */
async function setUp({ isRelayed = true } = {}) {
  const { serve, sessions, platform } = setUpRuns();
  await sessions.createSession(KEY);
  const network = new RunNetwork();
  const relay = () => (isRelayed ? new InMemoryRunRelay(network) : undefined);
  const limits = { unfinishedRunsEveryMs: 0 };
  const gate = new Gate();
  const host = serve([{ gate, text: 'done' }], { limits, relay: relay() });
  const other = serve([], { limits, relay: relay() });
  const send = (server: EventloomServer, path: string, body?: object): Promise<Response> =>
    Promise.resolve(
      server.fetch(new Request(`http://localhost${path}`, body && { method: 'POST', body: JSON.stringify(body) })),
    );
  /** Lets time pass until a request is answered, and checks that this is a few seconds, and not the time for which a run waits. */
  const soon = async (answer: Promise<Response>): Promise<Response> => {
    let answered: Response | undefined;
    const reading = answer.then((response) => (answered = response));
    const beganMs = platform.now();
    const isAnswered = () => {
      platform.advance(50);
      return answered !== undefined;
    };
    await expect.poll(isAnswered, { interval: 1 }).toBe(true);
    expect(platform.now() - beganMs).toBeLessThan(10_000);
    return reading;
  };
  return { host, other, gate, sessions, send, soon };
}

test.each([true, false])(
  'a run that a client resumes in another process than its own is followed there soon, with a relay: %s',
  async (isRelayed) => {
    const { host, other, gate, send, soon } = await setUp({ isRelayed });
    const started = await send(host, RUNS, { newMessage });
    const { invocationId } = (await started.json()) as { readonly invocationId: string };
    await gate.reached;
    const resuming = send(other, '/run_sse', { ...KEY, invocationId });
    await expect.poll(() => other.runsInFlight).toBe(1);
    const following = await soon(send(other, `${RUNS}/${invocationId}`));
    expect(other.runsInFlight).toBe(1);
    gate.open();
    expect(await following.text()).toMatch(isRelayed ? /^id: 1\ndata: .*"done".*\n\n$/ : /RUN_GOES_ON/);
    await (await resuming).text();
  },
);

test('a request that resumes its run is answered soon if another process resumes the run first', async () => {
  const { host, other, gate, sessions, send, soon } = await setUp();
  const run = { invocationId: 'e-left', requestId: 'r-1', resumable: true };
  const message = createEvent({ ...run, author: 'user', content: { role: 'user', ...newMessage } });
  message.actions.agentState = { resumable: true };
  const { lease } = await sessions.beginRun({ ...KEY, ...run, message });
  await sessions.releaseLease(lease, { keepRunOpen: true });
  const claim = new Gate();
  const beginRun = sessions.beginRun.bind(sessions);
  sessions.beginRun = async (request) => {
    if (request.message) return beginRun(request);
    sessions.beginRun = beginRun;
    await claim.pass();
    return beginRun(request);
  };
  const request = { newMessage, requestId: 'r-1', ifKnown: 'resume' };
  const second = send(other, RUNS, request);
  await claim.reached;
  expect((await send(host, RUNS, request)).status).toBe(202);
  await gate.reached;
  claim.open();
  expect(await (await soon(second)).json()).toEqual({ invocationId: 'e-left', state: 'running' });
  expect(other.runsInFlight).toBe(1);
  gate.open();
});
