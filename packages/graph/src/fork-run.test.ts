import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  type BaseAgent,
  ConfigurationError,
  contentText,
  InvalidRequestError,
  type SaveArtifactRequest,
} from '@eventloom/core';
import { LoopAgent } from '@eventloom/multi-agent';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, END, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const FORK = { ...KEY, sessionId: 'fork' };

/** Runs an agent to its end. */
async function setUp(agent: BaseAgent, deletedBefore: readonly string[] = [], savedBefore: readonly string[] = []) {
  const artifactService = new InMemoryArtifactService();
  for (const filename of deletedBefore) {
    await artifactService.saveArtifact({ ...KEY, filename, artifact: { text: 'gone' } });
    await artifactService.deleteArtifact({ ...KEY, filename });
  }
  for (const filename of savedBefore)
    await artifactService.saveArtifact({ ...KEY, filename, artifact: { text: 'before' } });
  const { runner, start, stored, sessionService } = await scenario({ agent, artifactService, resumable: true });
  const stream = start('x');
  for await (const _ of stream);
  const { invocationId } = stream;
  const resume = () => runner.run({ userId: 'u', sessionId: 'fork', invocationId });
  const params = { sessionService, ...KEY, invocationId, newSessionId: 'fork' };
  return { sessionService, artifactService, params, events: stored, resume };
}

test('fork copies the named run of a graph, by default the last one', async () => {
  let round = 0;
  const ran: string[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', () => ++round)
    .addNode('two', (input: number) => void ran.push(`two of ${input}`))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', END)
    .compile();
  const { params, events, resume, sessionService } = await setUp(
    new LoopAgent({ name: 'loop', subAgents: [agent], maxIterations: 3 }),
  );
  const runs = agent.history({ events: await events(), invocationId: params.invocationId });
  for (const [executionId, expected] of [
    [runs[0]?.executionId, ['two of 1', 'two of 4', 'two of 5']],
    [undefined, ['two of 3']],
  ] as const) {
    round = 3;
    ran.length = 0;
    await agent.fork({ ...params, step: 1, executionId });
    await resume();
    expect(ran).toEqual(expected);
    await sessionService.deleteSession(FORK);
  }
  await expect(agent.fork({ ...params, step: 1, executionId: 'none' })).rejects.toThrow(
    /has no run "none" of the graph/,
  );
});

/** Saves a file in each of two steps. */
function savingGraph() {
  return new StateGraph({ name: 'g' })
    .addNode('first', (_: unknown, { callbackContext }) => callbackContext.saveArtifact('notes.txt', { text: 'one' }))
    .addNode('again', (_: unknown, { callbackContext }) => callbackContext.saveArtifact('notes.txt', { text: 'two' }))
    .addNode('other', (_: unknown, { callbackContext }) => callbackContext.saveArtifact('other.txt', { text: 'three' }))
    .addNode('read', async (_: unknown, { callbackContext }) => {
      const found = await callbackContext.loadArtifact('notes.txt');
      return [await callbackContext.listArtifacts(), found?.text];
    })
    .addEdge(START, 'first')
    .addEdge('first', 'again')
    .addEdge('again', 'other')
    .addEdge('other', 'read')
    .addEdge('read', END)
    .compile();
}

test('a fork has the artifact versions of its step, and the session keeps its own', async () => {
  const agent = savingGraph();
  const { params, artifactService, resume } = await setUp(agent);
  await agent.fork({ ...params, artifactService, step: 2 });
  const versions = (key: typeof KEY, filename: string) => artifactService.listVersions({ ...key, filename });
  expect(await artifactService.listArtifactKeys(FORK)).toEqual(['notes.txt']);
  expect(await versions(FORK, 'notes.txt')).toEqual([0, 1]);
  expect(await artifactService.loadArtifact({ ...FORK, filename: 'notes.txt', version: 0 })).toEqual({ text: 'one' });
  const said = (await resume()).findLast(({ content }) => content);
  expect(JSON.parse(contentText(said?.content))).toEqual([['notes.txt', 'other.txt'], 'two']);
  expect([await versions(KEY, 'notes.txt'), await versions(KEY, 'other.txt')]).toEqual([[0, 1], [0]]);
});

test('artifact versions of a fork keep their numbers, without versions saved after its step', async () => {
  const agent = savingGraph();
  const { params, artifactService } = await setUp(agent, ['notes.txt']);
  await agent.fork({ ...params, artifactService, step: 1 });
  const key = { ...FORK, filename: 'notes.txt' };
  expect(await artifactService.loadArtifact({ ...key, version: 1 })).toEqual({ text: 'one' });
  expect(Math.max(...(await artifactService.listVersions(key)))).toBe(1);
});

test('fork throws when it would lose artifacts, and creates nothing', async () => {
  const agent = savingGraph();
  const { params, sessionService } = await setUp(agent);
  await expect(agent.fork({ ...params, step: 1 })).rejects.toThrow(ConfigurationError);
  expect(await sessionService.getSession(FORK)).toBeUndefined();
});

test('fork does not change shared state, and sees its current values', async () => {
  const channels = {
    mine: channel(z.number(), { stateKey: 'user:mine', default: 1 }),
    all: channel(z.number(), { stateKey: 'app:all', default: 1 }),
  };
  const agent = new StateGraph({ name: 'g', channels })
    .addNode('one', () => 1)
    .addNode('two', (_: unknown, context) => context.update({ mine: 2 }), { writes: ['mine'] })
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', END)
    .compile();
  const { params, sessionService } = await setUp(agent);
  for (const update of [{ mine: 50 }, { all: 50 }])
    await expect(agent.fork({ ...params, step: 1, update })).rejects.toThrow(InvalidRequestError);
  expect((await sessionService.getSession(KEY))?.state).toEqual({ 'user:mine': 2, 'app:all': 1 });
  expect((await agent.fork({ ...params, step: 1 })).state).toEqual({ 'user:mine': 2, 'app:all': 1 });
});

test('a fork has artifacts that the app saved itself, without those of later steps and of the user', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', () => 1)
    .addNode('two', async (_: unknown, { callbackContext }) => {
      await callbackContext.saveArtifact('later.txt', { text: 'later' });
      await callbackContext.saveArtifact('both.txt', { text: 'later' });
    })
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', END)
    .compile();
  const { params, artifactService } = await setUp(agent, [], ['both.txt']);
  const save = (filename: string, text: string) =>
    artifactService.saveArtifact({ ...KEY, filename, artifact: { text }, customMetadata: { of: text } });
  await save('upload.txt', 'first');
  await save('upload.txt', 'second');
  await save('user:own.txt', 'own');
  await agent.fork({ ...params, artifactService, step: 1 });
  expect(await artifactService.listVersions({ ...FORK, filename: 'upload.txt' })).toEqual([0, 1]);
  expect(await artifactService.loadArtifact({ ...FORK, filename: 'upload.txt' })).toEqual({ text: 'second' });
  expect(await artifactService.getArtifactVersion({ ...FORK, filename: 'upload.txt', version: 0 })).toMatchObject({
    customMetadata: { of: 'first' },
  });
  expect(await artifactService.loadArtifact({ ...FORK, filename: 'both.txt' })).toEqual({ text: 'before' });
  expect(await artifactService.loadArtifact({ ...FORK, filename: 'later.txt' })).toBeUndefined();
  expect(await artifactService.listVersions({ ...FORK, filename: 'user:own.txt' })).toEqual([0]);
});

test('fork deletes the new session when artifacts cannot be copied', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('one', () => 1)
    .addEdge(START, 'one')
    .addEdge('one', END)
    .compile();
  const { params, sessionService } = await setUp(agent);
  class Full extends InMemoryArtifactService {
    override saveArtifact(request: SaveArtifactRequest): Promise<number> {
      return request.sessionId === 'fork' ? Promise.reject(new Error('full')) : super.saveArtifact(request);
    }
  }
  const artifactService = new Full();
  await artifactService.saveArtifact({ ...KEY, filename: 'a.txt', artifact: { text: 'a' } });
  await expect(agent.fork({ ...params, artifactService, step: 1 })).rejects.toThrow('full');
  expect(await sessionService.getSession(FORK)).toBeUndefined();
});
