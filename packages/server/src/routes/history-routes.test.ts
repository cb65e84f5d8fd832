import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  BaseAgent,
  type BaseArtifactService,
  type Event,
  type InvocationContext,
  type Platform,
  type SaveArtifactRequest,
  systemPlatform,
} from '@eventloom/core';
import { expect, test } from 'vitest';
import { KEY, SESSION, serverScenario } from '../fixtures/server-scenario.ts';

/** An agent that counts its turns in the state of session, user and app, and in an artifact. */
class Counting extends BaseAgent {
  meanwhile: (() => Promise<void>) | undefined;

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const turn = Number(context.session.state['turn'] ?? 0) + 1;
    const artifact = { text: `${turn}` };
    const count = await context.artifactService?.saveArtifact({ ...KEY, filename: 'count', artifact });
    yield context.createEvent({
      author: 'bot',
      actions: { stateDelta: { turn, 'user:turn': turn, 'app:turn': turn }, artifactDelta: { count: count ?? -1 } },
      content: { parts: [{ text: `${turn}` }] },
    });
    if (!this.meanwhile) return;
    await this.meanwhile();
    yield context.createEvent({ author: 'bot', content: { parts: [{ text: 'late' }] } });
  }
}

/** A session of three turns. */
async function setUp(artifactService: BaseArtifactService = new InMemoryArtifactService()) {
  const agent = new Counting({ name: 'bot' });
  const background: Promise<unknown>[] = [];
  const platform: Platform = {
    ...systemPlatform,
    background: (work) => {
      work.catch(() => undefined);
      background.push(work);
    },
  };
  const played = await serverScenario({ agent, runner: { artifactService, platform } });
  const invocations: string[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    const stream = played.runner.runAsync({
      userId: 'ann',
      sessionId: 's',
      newMessage: { parts: [{ text: `go ${turn}` }] },
    });
    for await (const _ of stream);
    invocations.push(stream.invocationId);
  }
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await played.send(method, path, body);
    return {
      status: response.status,
      cursor: response.headers.get('Eventloom-Next-Cursor'),
      json: await response.json(),
    };
  };
  return { ...played, send, invocations, agent, background };
}

function textsOf(json: unknown): (string | undefined)[] {
  return (json as Event[]).map((event) => event.content?.parts?.[0]?.text);
}

test('events are paged in either order', async () => {
  const { send } = await setUp();
  const pages: Record<string, (string | undefined)[][]> = { asc: [], desc: [] };
  for (const order of ['asc', 'desc']) {
    let path: string | undefined = `${SESSION}/events?order=${order}&limit=4`;
    while (path) {
      const { status, json, cursor } = await send('GET', path);
      expect(status).toBe(200);
      pages[order]?.push(textsOf(json));
      path = cursor ? `${SESSION}/events?order=${order}&limit=4&cursor=${cursor}` : undefined;
    }
  }
  expect(pages).toEqual({
    asc: [
      ['go 1', '1', 'go 2', '2'],
      ['go 3', '3'],
    ],
    desc: [
      ['3', 'go 3', '2', 'go 2'],
      ['1', 'go 1'],
    ],
  });
});

test('a session is rewound to before an invocation', async () => {
  const { send, invocations, sessionService } = await setUp();
  const { status, json } = await send('POST', `${SESSION}/rewind`, { rewind_before_invocation_id: invocations[1] });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    author: 'user',
    actions: { rewindBeforeInvocationId: invocations[1], stateDelta: { turn: 1 } },
  });
  expect((await sessionService.getSession(KEY))?.state).toEqual({ turn: 1, 'user:turn': 3, 'app:turn': 3 });
  const { json: artifact } = await send('GET', `${SESSION}/artifacts/count`);
  expect(artifact).toMatchObject({ text: '1' });
});

test('a repeated rewind has the same result, and a rewind to an earlier invocation works', async () => {
  const { send, invocations, sessionService } = await setUp();
  for (const invocation of [invocations[1], invocations[1], invocations[2], invocations[1]]) {
    const { status } = await send('POST', `${SESSION}/rewind`, { rewindBeforeInvocationId: invocation });
    expect(status).toBe(200);
  }
  expect((await sessionService.getSession(KEY))?.state['turn']).toBe(1);
});

test('during a run a rewind waits, is refused or interrupts, according to onBusy', async () => {
  const { send, invocations, runner, agent, sessionService } = await setUp();
  const rewind = (onBusy?: string) =>
    send('POST', `${SESSION}/rewind`, { rewindBeforeInvocationId: invocations[1], on_busy: onBusy });
  const answers: unknown[] = [];
  const waiting: Promise<{ status: number }>[] = [];
  agent.meanwhile = async () => {
    answers.push(await rewind('reject'), await rewind('never'));
    waiting.push(rewind());
  };
  await runner.run({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'go 4' }] } });
  expect(answers).toMatchObject([
    { status: 409, json: { code: 'SESSION_BUSY' } },
    { status: 400, json: { code: 'INVALID_REQUEST' } },
  ]);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200]);
  expect((await sessionService.getSession(KEY))?.state['turn']).toBe(1);
  agent.meanwhile = async () => void (await (waiting[0] = rewind('interrupt')));
  const cut = runner.run({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'go 5' }] } });
  await expect(cut).rejects.toMatchObject({ code: 'STALE_WRITER' });
  // The run ends even if its agent still waits.
  expect(await waiting[0]).toMatchObject({ status: 200 });
  expect((await sessionService.getSession(KEY))?.state['turn']).toBe(1);
});

test('a rewind whose artifacts cannot be restored yet is stored, and the next turn completes it or fails with the reason', async () => {
  class Full extends InMemoryArtifactService {
    isFull = false;

    override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
      if (this.isFull) throw new RangeError('disk full');
      return super.saveArtifact(request);
    }
  }
  const artifacts = new Full();
  const { send, invocations, background } = await setUp(artifacts);
  artifacts.isFull = true;
  const body = { rewindBeforeInvocationId: invocations[1] };
  expect((await send('POST', `${SESSION}/rewind`, body)).status).toBe(200);
  await expect(Promise.all(background)).rejects.toThrow('disk full');
  const run = { appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'on' }] } };
  expect(await send('POST', '/run', run)).toMatchObject({ status: 500, json: { code: 'AGENT' } });
  artifacts.isFull = false;
  expect((await send('POST', `${SESSION}/rewind`, body)).status).toBe(200);
  expect((await send('GET', `${SESSION}/artifacts/count`)).json).toMatchObject({ text: '1' });
});

test('invalid requests are answered with the reason', async () => {
  const { send } = await setUp();
  const answers = [
    await send('GET', `${SESSION}/events?order=up`),
    await send('GET', `${SESSION}/events?limit=0`),
    await send('GET', `${SESSION}/events?cursor=desc.4`),
    await send('GET', `${SESSION}x/events`),
    await send('POST', `${SESSION}/rewind`, {}),
    await send('POST', `${SESSION}/rewind`, { rewindBeforeInvocationId: 'e-unknown' }),
    await send('POST', `${SESSION}x/rewind`, { rewindBeforeInvocationId: 'e-unknown' }),
  ];
  expect(answers.map(({ status, json }) => [status, (json as { code: string }).code])).toEqual([
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [404, 'SESSION_NOT_FOUND'],
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [404, 'SESSION_NOT_FOUND'],
  ]);
});
