import {
  BaseTool,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import { type ScriptedLiveScript } from '@eventloom/testing';
import { FinalToolResult, FunctionTool, type ToolOptions } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { liveScenario } from './fixtures/live-scenario.ts';

const END = { turnComplete: true };
const UNDER_WAY = 'running; its results follow as they come';

function call(args: Record<string, unknown> = {}, id: string | undefined = 'c') {
  const functionCall: FunctionCall = { ...(id && { id }), name: 'watch', args };
  return { content: { role: 'model', parts: [{ functionCall }] } };
}

function watch(execute: ToolOptions<undefined>['execute'], options: Partial<ToolOptions<undefined>> = {}) {
  return new FunctionTool({ name: 'watch', description: '', inputStream: true, ...options, execute });
}

/** Runs the script and returns what the model was sent and which responses were stored. */
async function play(tool: BaseTool, script: ScriptedLiveScript, confirmed?: boolean) {
  const { model, queue, stream, stored } = await liveScenario({ model: [script], agent: { tools: [tool] } });
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    const [asked] = getFunctionCalls(event);
    if (asked?.name === 'adk_request_confirmation')
      queue.sendToolResponse({ id: asked.id ?? '', name: asked.name, response: { confirmed } });
    if (event.turnComplete) queue.close();
  }
  model.assertConsumed();
  const sent = model.connections[0]?.sent.map((each) => {
    if ('toolResponses' in each) return each.toolResponses[0]?.response;
    return 'content' in each ? each.content.parts?.[0]?.text : each;
  });
  return { sent, responses: (await stored()).flatMap(getFunctionResponses).map(({ response }) => response) };
}

test('an error of a tool with an input stream is sent to the model without its earlier chunks', async () => {
  const failing = watch(async function* () {
    yield 'a cat';
    throw new TypeError('no camera');
  });
  const { sent, responses } = await play(failing, [call({ room: 1 }), { heard: /no camera/ }, END]);
  expect(sent).toEqual([
    { status: UNDER_WAY },
    'Function watch returned: "a cat"',
    'Function watch, called earlier with {"room":1}, returned: {"error":"no camera"}',
  ]);
  expect(responses).toEqual([{ status: UNDER_WAY }, { error: 'no camera', output: 'a cat' }]);
});

test.each<[string, ToolOptions<undefined>['execute'], string]>([
  ['a function returns', async () => ({ found: 'a cat' }), '{"found":"a cat"}'],
  [
    'a generator returns',
    async function* () {
      yield 1;
      return ['a cat'];
    },
    '{"results":["a cat"]}',
  ],
  [
    'a generator yields as its result',
    async function* () {
      yield 1;
      yield new FinalToolResult('a cat');
    },
    '{"result":"a cat"}',
  ],
])('the value that %s is sent to the model as the result', async (_, execute, expected) => {
  const { sent } = await play(watch(execute), [call(), { heard: /a cat/ }, END]);
  expect(sent?.[0]).toEqual({ status: UNDER_WAY });
  expect(sent?.at(-1)).toBe(`Function watch, called earlier with {}, returned: ${expected}`);
});

test.each([
  ['texts', ['a ', 'cat']],
  ['others', [{ found: 'a cat' }, 2]],
  ['none', []],
])('chunks are not repeated in the last response: %s', async (_, chunks) => {
  const ended = Promise.withResolvers<void>();
  const tool = watch(async function* () {
    try {
      yield* chunks;
    } finally {
      ended.resolve();
    }
  });
  const script: ScriptedLiveScript = [
    call(),
    async () => {
      await ended.promise;
      return ['Well'];
    },
    END,
  ];
  const { sent, responses } = await play(tool, script);
  expect(sent).toEqual([
    { status: UNDER_WAY },
    ...chunks.map((chunk) => `Function watch returned: ${JSON.stringify(chunk)}`),
  ]);
  expect(responses).toHaveLength(2);
});

test('invalid arguments are the only response to a call of a tool with an input stream', async () => {
  const parameters = { type: 'object', properties: { room: { type: 'string' } } };
  const tool = new FunctionTool({
    name: 'watch',
    description: '',
    inputStream: true,
    parameters,
    execute: (): never => expect.unreachable(),
  });
  const refused = {
    error: 'the arguments of watch are not valid: room: Instance type "number" is invalid. Expected "string".',
  };
  const { sent, responses } = await play(tool, [call({ room: 1 }), { heard: /not valid/ }, END]);
  expect(sent).toEqual([refused]);
  expect(responses).toEqual([refused]);
});

const WAITS = { error: expect.stringContaining('confirmation') as string };

test.each([true, false])(
  'a call that needs confirmation is reported as running once it is confirmed (%s)',
  async (confirmed) => {
    const tool = watch(
      async function* () {
        yield 'a cat';
      },
      { requireConfirmation: true },
    );
    const last = confirmed ? /a cat/ : /rejected/;
    const { sent } = await play(tool, [call(), { heard: /confirmation/ }, { heard: last }, END], confirmed);
    const earlier = 'Function watch, called earlier with {}, returned:';
    expect(sent).toEqual([
      WAITS,
      ...(confirmed
        ? [`${earlier} {"status":"${UNDER_WAY}"}`, 'Function watch returned: "a cat"']
        : [`${earlier} {"error":"This tool call is rejected."}`]),
    ]);
  },
);

test('a non-blocking call that needs confirmation stays open for later responses', async () => {
  const tool = watch(
    async function* () {
      yield 'a cat';
    },
    { requireConfirmation: true, nonBlocking: true },
  );
  const steps = [call(), { heard: /"willContinue":true/ }, { heard: /"willContinue":false/ }, END];
  const { sent } = await play(tool, { takesInterimResponses: true, steps }, true);
  expect(sent).toEqual([WAITS, { status: UNDER_WAY }, { output: 'a cat' }, { result: 'a cat' }]);
});

class Plain extends BaseTool {
  override _getDeclaration() {
    return { name: this.name, description: this.description };
  }

  override async runAsync({ toolContext }: RunAsyncToolRequest): Promise<unknown> {
    await toolContext.emit('a cat');
    return { left: true };
  }
}

test('a custom tool with an input stream is reported as running at its first chunk', async () => {
  const tool = new Plain({ name: 'watch', description: '', inputStream: true });
  const { sent } = await play(tool, [call(), { heard: /left/ }, END]);
  expect(sent).toEqual([
    { status: UNDER_WAY },
    'Function watch returned: "a cat"',
    'Function watch, called earlier with {}, returned: {"left":true}',
  ]);
});

test('calls without an id are answered as text if the service needs call ids', async () => {
  const tool = new FunctionTool({ name: 'watch', description: '', execute: () => 'a cat' });
  const steps = [call({ room: 1 }, ''), { heard: /a cat/ }, END];
  const { sent } = await play(tool, { needsCallIds: true, steps });
  expect(sent).toEqual(['Function watch, called earlier with {"room":1}, returned: {"result":"a cat"}']);
  expect((await play(tool, steps)).sent).toEqual([{ result: 'a cat' }]);
});

test('a second call with the same id gets its own response', async () => {
  const tool = new FunctionTool({ name: 'watch', description: '', execute: ({ room }) => `room ${String(room)}` });
  const script = [call({ room: 1 }), { heard: /room 1/ }, call({ room: 2 }), { heard: /room 2/ }, END];
  expect((await play(tool, script)).sent).toEqual([{ result: 'room 1' }, { result: 'room 2' }]);
});
