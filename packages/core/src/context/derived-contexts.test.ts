import { describe, expect, test } from 'vitest';
import {
  type ArtifactVersion,
  BaseArtifactService,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from '../artifact/artifact-service.ts';
import type { Part } from '../content/content.ts';
import { ConfigurationError } from '../errors.ts';
import { CallbackContext, ReadonlyContext } from './callback-context.ts';
import { ToolContext } from './tool-context.ts';
import { agent, contextOf } from './fixtures/test-invocation.ts';

/** Stores artifacts in a list; the index is the version. */
class Shelf extends BaseArtifactService {
  readonly #saved: SaveArtifactRequest[];

  constructor(saved: SaveArtifactRequest[]) {
    super();
    this.#saved = saved;
  }

  saveArtifact(request: SaveArtifactRequest): Promise<number> {
    return Promise.resolve(this.#saved.push(request) - 1);
  }

  loadArtifact({ version = 0 }: LoadArtifactRequest): Promise<Part | undefined> {
    return Promise.resolve(this.#saved[version]?.artifact);
  }

  listArtifactKeys(): Promise<string[]> {
    return Promise.resolve(this.#saved.map(({ filename }) => filename));
  }

  listVersions(): Promise<number[]> {
    return Promise.resolve([]);
  }

  listArtifactVersions(): Promise<ArtifactVersion[]> {
    return Promise.resolve([]);
  }

  getArtifactVersion(): Promise<ArtifactVersion | undefined> {
    return Promise.resolve(undefined);
  }

  deleteArtifact(): Promise<void> {
    return Promise.resolve();
  }
}

describe('the contexts of callbacks, tools and instructions', () => {
  test('have the agent, the user, the session and the message', () => {
    const context = contextOf().forAgent(agent);
    for (const view of [
      new ReadonlyContext(context),
      new CallbackContext({ invocationContext: context }),
      new ToolContext({ invocationContext: context, functionCallId: 'c1' }),
    ]) {
      expect(view).toMatchObject({
        invocationId: 'e-1',
        agentName: 'quiet',
        appName: 'app',
        userId: 'u',
        sessionId: 's',
      });
      expect(view.userContent?.parts).toEqual([{ text: 'hi' }]);
    }
    expect(new ToolContext({ invocationContext: context, functionCallId: 'c1' }).functionCallId).toBe('c1');
  });

  test('write state into their own actions and read the writes of other contexts', () => {
    const context = contextOf().forAgent(agent);
    const first = new CallbackContext({ invocationContext: context });
    const second = new ToolContext({ invocationContext: context, functionCallId: 'c1' });
    first.state.set('a', 1);
    second.state.set('b', 2);
    expect(first.actions.stateDelta).toEqual({ a: 1 });
    expect(second.actions.stateDelta).toEqual({ b: 2 });
    expect(second.state.get('a')).toBe(1);
    expect(new ReadonlyContext(context).state.toRecord()).toEqual({ a: 1, b: 2 });
    expect(first.eventActions).toBe(first.actions);
  });

  test('record saved artifacts in the actions of the next event', async () => {
    const saved: SaveArtifactRequest[] = [];
    const artifactService = new Shelf(saved);
    const context = new CallbackContext({ invocationContext: contextOf({ artifactService }).forAgent(agent) });
    expect(await context.saveArtifact('a.txt', { text: 'one' })).toBe(0);
    expect(await context.saveArtifact('a.txt', { text: 'two' })).toBe(1);
    expect(await context.saveArtifact('__proto__', { text: 'odd' })).toBe(2);
    expect(JSON.stringify(context.actions.artifactDelta)).toBe('{"a.txt":1,"__proto__":2}');
    expect(saved[0]).toEqual({
      appName: 'app',
      userId: 'u',
      sessionId: 's',
      filename: 'a.txt',
      artifact: { text: 'one' },
    });
    expect(await context.loadArtifact('a.txt', 0)).toEqual({ text: 'one' });
    expect(await context.listArtifacts()).toEqual(['a.txt', 'a.txt', '__proto__']);
  });

  test('throw ConfigurationError that names the missing service', async () => {
    const context = new CallbackContext({ invocationContext: contextOf().forAgent(agent) });
    await expect(context.saveArtifact('a.txt', { text: 'a' })).rejects.toThrow(ConfigurationError);
    await expect(async () => context.loadArtifact('a.txt')).rejects.toThrow(ConfigurationError);
    await expect(async () => context.listArtifacts()).rejects.toThrow(ConfigurationError);
    await expect(context.searchMemory('a')).rejects.toThrow(ConfigurationError);
  });
});

test('assigning the state of a context throws ConfigurationError with what to write', () => {
  const context = contextOf();
  for (const each of [new ReadonlyContext(context), new CallbackContext({ invocationContext: context })]) {
    const assign = (): void => void Object.assign(each, { state: { city: 'Lima' } });
    expect(assign).toThrow(ConfigurationError);
    expect(assign).toThrow(/^context: state cannot be assigned; .*write .*context\.state\.set\('city', 'Lima'\)/);
  }
});
