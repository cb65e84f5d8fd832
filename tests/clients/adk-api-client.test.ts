import { AdkApiClient } from '@google/adk-devtools';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apps, places, type Started } from './servers.ts';

type RunRequest = Parameters<AdkApiClient['runAsync']>[0];
type Said = Awaited<ReturnType<AdkApiClient['getSession']>>['events'][number];

describe.each(places)('AdkApiClient of @google/adk-devtools against %s', (_place, start) => {
  let server: Started;
  let client: AdkApiClient;
  beforeAll(async () => {
    server = await start();
    client = new AdkApiClient({ backendUrl: server.url });
  });
  afterAll(() => server.stop());

  async function run(request: RunRequest): Promise<Said[]> {
    const events: Said[] = [];
    for await (const event of client.runAsync(request)) events.push(event);
    return events;
  }

  async function open(appName: string) {
    const key = { appName, userId: 'api-client', sessionId: crypto.randomUUID() };
    await client.createSession({ ...key, state: { mood: 'good' } });
    const send = (newMessage: RunRequest['newMessage'], streaming = true): Promise<Said[]> =>
      run({ ...key, newMessage, streaming });
    return { key, send };
  }

  const textOf = ({ content }: Said): string => content?.parts?.map(({ text = '' }) => text).join('') ?? '';

  test('lists the apps', async () => {
    expect(await client.listApps()).toEqual([...apps, 'voice', 'bidi-demo']);
  });

  test.each(apps)('%s: creates, reads, lists and deletes sessions', async (appName) => {
    const { key } = await open(appName);
    expect(await client.getSession(key)).toMatchObject({ id: key.sessionId, state: { mood: 'good' }, events: [] });
    expect((await client.listSessions(key)).map(({ id }) => id)).toContain(key.sessionId);
    expect((await client.listAllSessions(key)).map(({ id }) => id)).toContain(key.sessionId);
    await client.deleteSession(key);
    await expect(client.getSession(key)).rejects.toThrow(/session/i);
  });

  test.each(apps)(
    '%s: gets the chunks and the whole of a streamed answer, and no event without content',
    async (appName) => {
      const { send } = await open(appName);
      const events = await send('hi');
      expect(events.map((event) => [event.partial ?? false, textOf(event)])).toEqual([
        [true, 'You said: '],
        [true, 'hi'],
        [false, 'You said: hi'],
      ]);
      expect((await send('hi', false)).map(textOf)).toEqual(['You said: hi']);
    },
  );

  test.each(apps)('%s: gets calls, responses and changes of the state', async (appName) => {
    const { key, send } = await open(appName);
    const events = await send('call look');
    expect(events.map(({ content }) => content?.parts?.[0])).toMatchObject([
      { functionCall: { name: 'look' } },
      { functionResponse: { name: 'look', response: { color: 'blue' } } },
      { text: 'The tool said {"color":"blue"}.' },
    ]);
    expect(events[1]?.actions.stateDelta).toEqual({ seen: 'sky' });
    expect((await client.getSession(key)).state).toEqual({ mood: 'good', seen: 'sky' });
  });

  test.each(apps)('%s: sets the state with a message', async (appName) => {
    const { key } = await open(appName);
    await run({ ...key, newMessage: 'hi', stateDelta: { mood: 'bad' } });
    expect((await client.getSession(key)).state).toEqual({ mood: 'bad' });
  });

  test.each(apps)('%s: answers a request for a confirmation', async (appName) => {
    const { send } = await open(appName);
    const asked = (await send('call pay')).flatMap(({ content }) => content?.parts ?? []);
    const { functionCall } = asked.find((part) => part.functionCall?.name === 'adk_request_confirmation') ?? {};
    expect(functionCall?.args).toMatchObject({ originalFunctionCall: { name: 'pay' } });
    const functionResponse = {
      id: functionCall?.id ?? '',
      name: functionCall?.name ?? '',
      response: { confirmed: true },
    };
    const events = await send({ role: 'user', parts: [{ functionResponse }] });
    expect(events.map(({ content }) => content?.parts?.[0])).toMatchObject([
      { functionResponse: { name: 'pay', response: { paid: true } } },
      { text: 'The tool said {"paid":true}.' },
    ]);
  });

  test.each(apps)('%s: lists, loads and deletes artifacts', async (appName) => {
    const { key, send } = await open(appName);
    await send('call save');
    await send('call save');
    const file = { ...key, artifactName: 'note.txt' };
    expect(await client.listArtifacts(key)).toEqual(['note.txt']);
    expect(await client.listArtifactVersions(file)).toEqual([0, 1]);
    expect(await client.loadArtifact(file)).toEqual({ text: 'hello' });
    expect(await client.loadArtifact({ ...file, version: 0 })).toEqual({ text: 'hello' });
    await client.deleteArtifact(file);
    expect(await client.listArtifacts(key)).toEqual([]);
  });

  test.each(apps)('%s: gets an incomplete reply as an event with its error code', async (appName) => {
    const { send } = await open(appName);
    const events = await send('cut');
    expect(events.at(-1)).toMatchObject({ errorCode: 'MAX_TOKENS' });
    expect(events.map(textOf)).toContain('It was a dark and');
  });

  test.each(apps)('%s: throws the error of a run that failed, and runs again', async (appName) => {
    const { send } = await open(appName);
    await expect(send('fail')).rejects.toThrow(/model/);
    expect((await send('hi', false)).map(textOf)).toEqual(['You said: hi']);
  });

  test('throws an error if the server refuses a request', async () => {
    const missing = { appName: 'plain', userId: 'api-client', sessionId: 'missing' };
    await expect(run({ ...missing, newMessage: 'hi' })).rejects.toThrow(/missing/);
  });
});
