import { type Event, type LlmRequest, ModelError } from '@eventloom/core';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { callF, reply, toolOf } from './fixtures/called-tool.ts';
import { responseOf, scenario, textOf } from './fixtures/scenario.ts';

// Models.

test('a response from beforeModelCallback replaces the model call, which does not count', async () => {
  const { model, run } = await scenario({
    agent: {
      beforeModelCallback: [() => undefined, () => reply('cached'), () => expect.unreachable()],
      afterModelCallback: () => expect.unreachable(),
    },
  });
  expect((await run('hi', { runConfig: { maxLlmCalls: 1 } })).map(textOf)).toEqual(['cached']);
  expect(model.calls).toBe(0);
});

test.each(['beforeModelCallback', 'afterModelCallback', 'onModelErrorCallback'] as const)(
  '%s fails the run when it returns a string, and the error says what to write',
  async (callback) => {
    const { run } = await scenario({
      model: [callback === 'onModelErrorCallback' ? new ModelError('lost', { errorCode: 'UNAVAILABLE' }) : 'hi'],
      agent: { [callback]: () => 'hello' as never },
    });
    await expect(run()).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: `agent "bot": ${callback}: expected a response or nothing as the result, got a string; write return { content: { role: 'model', parts: [{ text: 'hello' }] } }`,
    });
  },
);

test('a response from beforeModelCallback may contain tool calls', async () => {
  let asked = 0;
  const { run } = await scenario({
    model: ['done'],
    agent: {
      tools: [toolOf()],
      beforeModelCallback: () =>
        asked++ === 0 ? { content: { parts: [{ functionCall: { name: 'f', args: { n: 5 } } }] } } : undefined,
    },
  });
  const events = await run();
  expect(responseOf(events[1])).toEqual({ result: 5 });
  expect(textOf(events[2])).toBe('done');
});

test('beforeModelCallback may change the request at any depth, with no effect elsewhere', async () => {
  const rewrite = (request: LlmRequest): void => {
    request.config.temperature = 1;
    for (const { parts = [] } of request.contents) {
      for (const part of parts) {
        if (part.text !== undefined) part.text = 'redacted';
        if (part.functionCall?.args) part.functionCall.args['n'] = 0;
      }
    }
    request.contents.push({ role: 'user', parts: [{ text: 'added' }] });
    const [tools] = request.config.tools as { functionDeclarations: { description: string }[] }[];
    for (const declaration of tools?.functionDeclarations ?? []) declaration.description += '!';
  };
  const tool = toolOf();
  const { model, run, session } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [tool],
      generateContentConfig: { temperature: 0 },
      beforeModelCallback: ({ request }) => rewrite(request),
    },
  });
  await run();
  const { contents, config } = model.requests[1]?.request ?? expect.unreachable();
  expect(contents[0]?.parts).toEqual([{ text: 'redacted' }]);
  expect(contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ n: 0 });
  expect(contents.at(-1)?.parts).toEqual([{ text: 'added' }]);
  expect(config).toMatchObject({
    temperature: 1,
    tools: [{ functionDeclarations: [{ name: 'f', description: '!' }] }],
  });
  const { events } = await session();
  expect(textOf(events[0])).toBe('hi');
  expect(events[1]?.content?.parts?.[0]?.functionCall?.args).toEqual({ n: 1 });
  expect(tool._getDeclaration().description).toBe('');
});

test('beforeModelCallback may replace tools, long-running ones included', async () => {
  const added = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
  const calls = ['later', 'constructor'].map((name) => ({ id: name, name, args: {} }));
  const { run } = await scenario({
    model: [{ calls }],
    agent: {
      beforeModelCallback: ({ request }) => {
        request.toolsDict = { ...request.toolsDict, later: added };
      },
    },
  });
  const [call, response] = await run();
  expect(call?.longRunningToolIds).toEqual(['later']);
  expect(responseOf(response)).toEqual({ error: 'there is no tool named "constructor"; the tools are: later' });
});

test('afterModelCallback may replace the response', async () => {
  const { run, session } = await scenario({
    model: ['secret'],
    agent: {
      afterModelCallback: [
        ({ response }) => (textOf(response as Event) === 'secret' ? { ...response, ...reply('***') } : undefined),
        () => expect.unreachable(),
      ],
    },
  });
  expect((await run()).map(textOf)).toEqual(['***']);
  expect((await session()).events.map(textOf)).toEqual(['hi', '***']);
});

test('afterModelCallback runs for each chunk and for the whole reply', async () => {
  const seen: (string | undefined)[] = [];
  const { run } = await scenario({
    model: [{ chunks: ['a', 'b'] }],
    agent: {
      afterModelCallback: async ({ response }) => {
        const text = textOf(response as Event);
        seen.push(text);
        return { ...response, ...reply(`<${text}>`) };
      },
    },
  });
  expect((await run('hi', { runConfig: { streamingMode: 'sse' } })).map(textOf)).toEqual(['<a>', '<b>', '<ab>']);
  expect(seen).toEqual(['a', 'b', 'ab']);
});

test('calls removed by a callback are not run', async () => {
  const { run } = await scenario({
    model: [callF],
    agent: {
      tools: [toolOf(() => expect.unreachable())],
      afterModelCallback: () => reply('no calls'),
    },
  });
  expect((await run()).map(textOf)).toEqual(['no calls']);
});

test('onModelErrorCallback may answer for a failed model', async () => {
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const { run, session } = await scenario({
    model: [lost],
    agent: {
      onModelErrorCallback: [
        ({ error }) => {
          expect(error).toBe(lost);
          return undefined;
        },
        ({ request }) => reply(`asked with ${request.contents.length}`),
        () => expect.unreachable(),
      ],
    },
  });
  expect((await run()).map((event) => [textOf(event), event.errorCode])).toEqual([['asked with 1', undefined]]);
  expect((await session()).events).toHaveLength(2);
});

test('changes of onModelErrorCallback to the request do not affect the session', async () => {
  const { run, session } = await scenario({
    model: [new ModelError('lost', { errorCode: 'UNAVAILABLE' })],
    agent: {
      onModelErrorCallback: ({ request }) => {
        for (const part of request.contents[0]?.parts ?? []) part.text = 'redacted';
        return reply('sorry');
      },
    },
  });
  await run();
  expect((await session()).events.map(textOf)).toEqual(['hi', 'sorry']);
});

test('a response from onModelErrorCallback after chunks completes their reply', async () => {
  const { run } = await scenario({
    model: [{ chunks: ['a'], error: new ModelError('lost', { errorCode: 'UNAVAILABLE' }) }],
    agent: {
      onModelErrorCallback: () => reply('instead'),
    },
  });
  const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
  expect(events.map(textOf)).toEqual(['a', 'instead']);
  expect(events[1]?.responseId).toBe(events[0]?.responseId);
});

test('state changes of model callbacks are stored with the reply', async () => {
  const { run, session } = await scenario({
    model: ['answer'],
    agent: {
      beforeModelCallback: ({ context }) => context.state.set('before', 1),
      afterModelCallback: ({ context }) => context.state.set('after', 2),
    },
  });
  expect((await run())[0]?.actions.stateDelta).toEqual({ before: 1, after: 2 });
  expect((await session()).state).toEqual({ before: 1, after: 2 });
});

test('each model call of a run has its own state changes', async () => {
  let calls = 0;
  const { run } = await scenario({
    model: [callF, 'done'],
    agent: {
      tools: [toolOf()],
      beforeModelCallback: ({ context }) => context.state.set('calls', ++calls),
    },
  });
  expect((await run()).map((event) => event.actions.stateDelta)).toEqual([{ calls: 1 }, {}, { calls: 2 }]);
});

test("an error thrown by onModelErrorCallback replaces the model's error", async () => {
  const { run } = await scenario({
    model: [new ModelError('lost', { errorCode: 'UNAVAILABLE' })],
    agent: {
      onModelErrorCallback: () => {
        throw new RangeError('callback');
      },
    },
  });
  await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: callback' });
});
