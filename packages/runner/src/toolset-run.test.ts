import { BaseTool, BaseToolset, type BaseToolsetOptions, isFinalResponse, StorageError } from '@eventloom/core';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { KEY, saying, scenario, scripted, textOf } from './fixtures/scenario.ts';

class Echo extends BaseTool {
  constructor(name: string) {
    super({ name, description: '' });
  }

  override _getDeclaration() {
    return { name: this.name };
  }

  override async runAsync(): Promise<unknown> {
    return this.name;
  }
}

class PerUser extends BaseToolset {
  isClosed = false;

  override async getTools(context?: { readonly userId: string }): Promise<BaseTool[]> {
    return [new Echo(`for_${context?.userId}`), new Echo('shared')];
  }

  override async close(): Promise<void> {
    this.isClosed = true;
  }
}

test('the tools of a toolset are offered and run', async () => {
  const { model, run } = await scenario({
    model: [{ calls: [{ id: 'c', name: 'for_u', args: {} }] }, 'ok'],
    agent: {
      tools: [new Echo('first'), new PerUser(), new Echo('last')],
    },
  });
  const events = await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['first', 'for_u', 'shared', 'last']);
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ result: 'for_u' });
});

test('a duplicate tool name in a toolset fails the run', async () => {
  const { run } = await scenario({ agent: { tools: [new Echo('shared'), new PerUser()] } });
  await expect(run()).rejects.toThrow('agent "bot": two tools have the name "shared"');
});

test('a tool may change the request without declaring itself', async () => {
  class Grounding extends Echo {
    override processLlmRequest({ llmRequest }: Parameters<BaseTool['processLlmRequest']>[0]): void {
      llmRequest.config.tools = [...(llmRequest.config.tools ?? []), { googleSearch: {} }];
    }
  }
  const { model, run } = await scenario({ model: ['ok'], agent: { tools: [new Echo('f'), new Grounding('search')] } });
  await run();
  expect(model.requests[0]?.request.config.tools).toEqual([
    { functionDeclarations: [{ name: 'f' }] },
    { googleSearch: {} },
  ]);
});

test("closing the runner closes the agent's toolsets", async () => {
  const toolset = new PerUser();
  const { runner } = await scenario({ agent: { tools: [toolset] } });
  await runner.close();
  expect(toolset.isClosed).toBe(true);
});

/** A toolset that lists the given tools, and counts how often it was listed. */
class Listing extends BaseToolset {
  lists = 0;
  readonly list: (toolset: Listing) => BaseTool[];
  #version = 0;

  constructor(list: (toolset: Listing) => BaseTool[], options: BaseToolsetOptions = {}) {
    super([], undefined, options);
    this.list = list;
  }

  override get version(): number {
    return this.#version;
  }

  change(): void {
    this.#version++;
  }

  override async getTools(): Promise<BaseTool[]> {
    this.lists++;
    return this.list(this);
  }

  override async close(): Promise<void> {}
}

const down = (): never => {
  throw new Error('connect ECONNREFUSED http://key@inner');
};
const calling = (name: string) => ({ calls: [{ id: `c-${name}`, name, args: {} }] });
const toolNames = (model: { requests: readonly { request: { toolsDict: object } }[] }) =>
  model.requests.map(({ request }) => Object.keys(request.toolsDict));

test('a toolset lists its tools once per turn', async () => {
  const toolset = new Listing(() => [new Echo('echo')]);
  const { run } = await scenario({
    model: [calling('echo'), calling('echo'), 'ok', 'ok'],
    agent: { tools: [toolset] },
  });
  await run();
  expect(toolset.lists).toBe(1);
  await run();
  expect(toolset.lists).toBe(2);
});

test('a toolset whose version changed lists its tools again for the next step', async () => {
  class Opening extends Echo {
    override async runAsync(): Promise<unknown> {
      toolset.change();
      return super.runAsync();
    }
  }
  const toolset: Listing = new Listing(({ version }) =>
    version === 0 ? [new Opening('open')] : [new Opening('open'), new Echo('inner')],
  );
  const { model, run } = await scenario({
    model: [calling('open'), calling('inner'), 'ok'],
    agent: { tools: [toolset] },
  });
  await run();
  expect(toolNames(model)).toEqual([['open'], ['open', 'inner'], ['open', 'inner']]);
  expect(toolset.lists).toBe(2);
});

test('a toolset that cannot list its tools fails the run with its name', async () => {
  const { run, stored } = await scenario({ agent: { tools: [new Listing(down, { name: 'weather' })] } });
  const failure = await run().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'TOOLSET_UNAVAILABLE',
    retryable: true,
    toolsetName: 'weather',
    message: 'toolset "weather": could not list its tools: connect ECONNREFUSED http://key@inner',
    cause: { message: 'connect ECONNREFUSED http://key@inner' },
  });
  expect((await stored()).at(-1)).toMatchObject({
    errorCode: 'TOOLSET_UNAVAILABLE',
    errorMessage: 'toolset "weather": could not list its tools',
  });
});

test('a toolset whose storage fails is not skipped: the run fails with STORAGE_UNAVAILABLE', async () => {
  const fails = (): never => {
    throw StorageError.of('the credential storage', new Error('connect ECONNREFUSED inner'));
  };
  const { run, stored } = await scenario({
    agent: { tools: [new Listing(fails, { name: 'weather', onUnavailable: 'skip' })] },
  });
  await expect(run()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect((await stored()).at(-1)).toMatchObject({
    errorCode: 'STORAGE_UNAVAILABLE',
    errorMessage: 'the run failed, because a storage was not available; to try again, send a new message',
  });
});

test('an agent runs without a skipped toolset, and its model and the event stream get a note once per turn', async () => {
  const toolset = new Listing(down, { name: 'weather', onUnavailable: 'skip' });
  const { model, run, stored } = await scenario({
    model: [calling('echo'), 'ok'],
    agent: { tools: [new Echo('echo'), toolset] },
  });
  const events = await run();
  expect(events).toHaveLength(4);
  const [failure] = events;
  expect(failure).toMatchObject({
    author: 'bot',
    object: 'preprocessing.tools',
    customMetadata: { unavailableToolsets: ['weather'] },
  });
  expect(failure?.content).toBeUndefined();
  expect(isFinalResponse(failure as never)).toBe(false);
  expect((await stored())[1]?.customMetadata).toEqual({ unavailableToolsets: ['weather'] });
  expect(toolset.lists).toBe(1);
  expect(toolNames(model)).toEqual([['echo'], ['echo']]);
  for (const { request } of model.requests)
    expect(request.config.systemInstruction).toContain(
      'The tools of these toolsets are unavailable at the moment: "weather". Say so when a request needs them.',
    );
});

test('a toolset that is available again is offered and no longer named', async () => {
  let isDown = true;
  const toolset = new Listing(() => (isDown ? down() : [new Echo('echo')]), { name: 'weather', onUnavailable: 'skip' });
  const { model, run } = await scenario({ model: ['sorry', 'ok'], agent: { tools: [toolset] } });
  await run();
  isDown = false;
  expect(await run()).toHaveLength(1);
  expect(toolNames(model)).toEqual([[], ['echo']]);
  expect(model.requests[1]?.request.config.systemInstruction).not.toContain('unavailable');
});

test('an abort while a toolset lists its tools ends the run immediately, with onUnavailable skip too', async () => {
  const listing = Promise.withResolvers<void>();
  class Hanging extends BaseToolset {
    override getTools(): Promise<BaseTool[]> {
      listing.resolve();
      return new Promise(() => undefined);
    }

    override async close(): Promise<void> {}
  }
  const { runner } = await scenario({ agent: { tools: [new Hanging([], undefined, { onUnavailable: 'skip' })] } });
  const controller = new AbortController();
  const newMessage = { parts: [{ text: 'hi' }] };
  const running = runner.run({ userId: 'u', sessionId: 's', newMessage, abortSignal: controller.signal });
  await listing.promise;
  controller.abort();
  await expect(running).rejects.toMatchObject({ code: 'RUN_ABORTED' });
});

/** A toolset that counts how often it was opened and closed. */
class Connecting extends Listing {
  log: string[] = [];

  override async getTools(): Promise<BaseTool[]> {
    this.log.push('open');
    return super.getTools();
  }

  override async close(): Promise<void> {
    this.log.push('close');
  }
}

test('the toolsets of all agents are closed when a run has ended, and open again in the next run', async () => {
  const [own, below, called] = [0, 1, 2].map(() => new Connecting(() => []));
  const { run } = await scenario({
    model: ['one', 'two'],
    agent: {
      tools: [own as Connecting, new AgentTool({ agent: scripted('called', [], { tools: [called as Connecting] }) })],
      subAgents: [scripted('below', [], { tools: [below as Connecting] })],
    },
  });
  await run();
  expect([own, below, called].map((toolset) => toolset?.log)).toEqual([['open', 'close'], ['close'], ['close']]);
  await run();
  expect(own?.log).toEqual(['open', 'close', 'open', 'close']);
});

test('a toolset that another run of the runner uses stays open until that run has ended', async () => {
  const gate = new Gate();
  const toolset = new Connecting(() => []);
  const { runner, sessionService, run } = await scenario({
    model: [{ text: 'late', gate }, 'soon'],
    agent: { tools: [toolset] },
  });
  await sessionService.createSession({ ...KEY, sessionId: 'other' });
  const late = run();
  await gate.reached;
  await runner.run({ ...saying('hi'), sessionId: 'other' });
  expect(toolset.log).toEqual(['open', 'open']);
  gate.open();
  await late;
  expect(toolset.log).toEqual(['open', 'open', 'close']);
});

test('a run ends although a toolset fails to close, and the failure is reported', async () => {
  class Broken extends Listing {
    override close(): Promise<void> {
      throw new RangeError('cannot close');
    }
  }
  const { run, platform } = await scenario({ model: ['ok'], agent: { tools: [new Broken(() => [])] } });
  expect((await run()).map(textOf)).toEqual(['ok']);
  await expect(platform.drain()).rejects.toThrow('cannot close');
});

test('a run ends five seconds after a toolset began to close, if closing does not end', async () => {
  const closing = Promise.withResolvers<void>();
  class Endless extends Listing {
    override close(): Promise<void> {
      closing.resolve();
      return new Promise(() => undefined);
    }
  }
  const { start, platform } = await scenario({ model: ['ok'], agent: { tools: [new Endless(() => [])] } });
  const stream = start();
  await stream.next();
  const ending = stream.next();
  await closing.promise;
  platform.advance(5000);
  expect((await ending).done).toBe(true);
});
