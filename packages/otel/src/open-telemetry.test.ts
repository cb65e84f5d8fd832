import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { metrics } from '@opentelemetry/api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scenario, scripted } from '../../runner/src/fixtures/scenario.ts';
import { recordingSdks } from './fixtures/recording-sdks.ts';
import { openTelemetry, type OpenTelemetryOptions } from './index.ts';
import { remoteSpanOf } from './trace-context.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

const usage = {
  promptTokenCount: 1000,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 30,
  cachedContentTokenCount: 400,
};
const calling: ScriptedStep = {
  parts: [{ functionCall: { name: 'look', args: { where: 'the secret of ann' } } }],
  response: { usageMetadata: usage, modelVersion: 'scripted-7' },
};
const look = (): FunctionTool =>
  new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: 'the secret of ann' }) });

describe.each(recordingSdks)('%s', (_, createSdk) => {
  function setUp(options: OpenTelemetryOptions = {}) {
    const sdk = createSdk();
    const { tracerProvider, meterProvider } = sdk;
    return { sdk, instrumentation: openTelemetry({ tracerProvider, meterProvider, ...options }) };
  }

  test('spans have the attributes of the GenAI conventions, and neither content nor the user', async () => {
    const { sdk, instrumentation } = setUp();
    const agent = scripted('bot', [calling, 'the secret of ann'], {
      tools: [look()],
      instruction: 'the secret of ann',
      description: 'Helps.',
      generateContentConfig: { temperature: 0.5, maxOutputTokens: 99 },
    });
    const { run } = await scenario({ agent, instrumentation });
    const [first] = await run('the secret of ann');
    const common = { 'gen_ai.conversation.id': 's', 'eventloom.invocation_id': first?.invocationId };
    const ofAgent = { ...common, 'gen_ai.agent.name': 'bot', 'eventloom.execution_id': first?.executionId };
    expect(
      sdk
        .spans()
        .slice(0, 4)
        .map(({ name, kind, attributes }) => ({ name, kind, attributes })),
    ).toEqual([
      {
        name: 'invoke_workflow app',
        kind: 0,
        attributes: { ...common, 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.agent.name': 'app' },
      },
      {
        name: 'invoke_agent bot',
        kind: 0,
        attributes: { ...ofAgent, 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.description': 'Helps.' },
      },
      {
        name: 'chat scripted',
        kind: 2,
        attributes: {
          ...ofAgent,
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'ScriptedModel',
          'gen_ai.request.model': 'scripted',
          'gen_ai.request.temperature': 0.5,
          'gen_ai.request.max_tokens': 99,
          'gen_ai.response.model': 'scripted-7',
          'gen_ai.response.finish_reasons': ['stop'],
          'gen_ai.usage.input_tokens': 1000,
          'gen_ai.usage.output_tokens': 50,
          'gen_ai.usage.cache_read.input_tokens': 400,
          'gen_ai.usage.reasoning.output_tokens': 30,
        },
      },
      {
        name: 'execute_tool look',
        kind: 0,
        attributes: {
          ...ofAgent,
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'look',
          'gen_ai.tool.type': 'function',
          'gen_ai.tool.call.id': expect.any(String),
        },
      },
    ]);
    expect(sdk.text()).not.toContain('secret');
    expect(sdk.text()).not.toContain('user.id');
  });

  test('content and the id of the user are in the spans if the options request them, up to the length limit', async () => {
    const { sdk, instrumentation } = setUp({ captureContent: true, captureUserId: true, maxContentLength: 400 });
    const agent = scripted('bot', [calling, 'x'.repeat(1000)], { tools: [look()], instruction: 'Be kind.' });
    const { run } = await scenario({ agent, instrumentation });
    await run('y'.repeat(200));
    const [, , first, tool, second] = sdk.spans().map(({ attributes }) => attributes);
    expect(first?.['user.id']).toBe('u');
    expect(first?.['gen_ai.system_instructions']).toContain('Be kind.');
    expect(JSON.parse(String(first?.['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'y'.repeat(200) }] },
    ]);
    expect(JSON.parse(String(first?.['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', name: 'look', arguments: { where: 'the secret of ann' } }],
        finish_reason: 'stop',
      },
    ]);
    expect(JSON.parse(String(tool?.['gen_ai.tool.call.arguments']))).toEqual({ where: 'the secret of ann' });
    expect(JSON.parse(String(tool?.['gen_ai.tool.call.result']))).toEqual({ seen: 'the secret of ann' });
    const input = String(second?.['gen_ai.input.messages']);
    expect(JSON.parse(input)[0]).toEqual({ role: 'system', parts: [{ type: 'text', content: '1 messages left out' }] });
    expect(input.length).toBeLessThan(500);
    expect(String(second?.['gen_ai.output.messages']).length).toBeLessThan(200);
  });

  test('metrics count tokens, durations, times to the first chunk and costs', async () => {
    const { instrumentation, sdk } = setUp({ prices: { scripted: { input: 2, cachedInput: 1, output: 10 } } });
    const platform = fixedPlatform();
    const wait =
      (ms: number): ScriptedStep =>
      () => {
        platform.advance(ms);
        return { chunks: ['a', 'b'], response: { usageMetadata: usage } };
      };
    const { run } = await scenario({ agent: scripted('bot', [wait(500)]), instrumentation, platform });
    await run('hi', { runConfig: { streamingMode: 'sse' } });
    const cost = (600 * 2 + 400 * 1 + 50 * 10) / 1_000_000;
    expect(await sdk.sums()).toEqual({
      'gen_ai.client.operation.duration': 0.5,
      'gen_ai.client.operation.time_to_first_chunk': 0.5,
      'gen_ai.client.token.usage "input"': 1000,
      'gen_ai.client.token.usage "output"': 50,
      'eventloom.client.cost': cost,
    });
    const { attributes } = sdk.spans()[2] ?? expect.unreachable();
    expect(attributes['eventloom.cost']).toBe(cost);
    expect(attributes['gen_ai.response.time_to_first_chunk']).toBe(0.5);
    expect(attributes['gen_ai.request.stream']).toBe(true);
  });

  test('metrics are counted if the program registers its SDK after it created the instrumentation', async () => {
    const registered = createSdk();
    const { instrumentation } = setUp({ meterProvider: undefined });
    const { run } = await scenario({ agent: scripted('bot', ['early', 'late']), instrumentation });
    await run();
    metrics.setGlobalMeterProvider(registered.meterProvider);
    onTestFinished(() => metrics.disable());
    await run();
    expect(Object.keys(await registered.sums())).toEqual(['gen_ai.client.operation.duration']);
  });

  test('a reply with an error code is a failed call', async () => {
    const { instrumentation, sdk } = setUp();
    const cut: ScriptedStep = { text: 'half', response: { errorCode: 'SAFETY', errorMessage: 'the secret of ann' } };
    const { run } = await scenario({ agent: scripted('bot', [cut]), instrumentation });
    await run().catch(() => undefined);
    expect(sdk.tree().at(-1)?.trim()).toBe('chat scripted (SAFETY)');
    expect(Object.keys(await sdk.sums())).toEqual(['gen_ai.client.operation.duration "SAFETY"']);
    expect(sdk.text()).not.toContain('secret');
  });

  test('a run continues the trace of its request, and a tool passes its span on', async () => {
    const { sdk, instrumentation } = setUp();
    const passed: Readonly<Record<string, string>>[] = [];
    const ask = new FunctionTool({
      name: 'look',
      description: 'Looks.',
      execute: (_args, toolContext) => void passed.push(toolContext.traceHeaders),
    });
    const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([calling, 'done', 'again']), tools: [ask] });
    const runner = new Runner({
      appName: 'app',
      agent,
      sessionService: new InMemorySessionService(),
      autoCreateSession: true,
      instrumentation,
    });
    const { fetch } = createServer({ runners: [runner] });
    const send = async (headers: Record<string, string>): Promise<Response> =>
      fetch(
        new Request('http://localhost/run', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({
            appName: 'app',
            userId: 'u',
            sessionId: 's',
            newMessage: { parts: [{ text: 'hi' }] },
          }),
        }),
      );
    await send({ traceparent: TRACEPARENT, tracestate: 'vendor=1' });
    const [root] = sdk.spans();
    expect(sdk.spans().map((span) => span.spanContext().traceId)).toEqual(Array(5).fill(TRACE_ID));
    expect(root?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    const tool = sdk.spans().find(({ name }) => name === 'execute_tool look');
    const traceparent = `00-${TRACE_ID}-${tool?.spanContext().spanId}-01`;
    expect(passed).toEqual([{ traceparent, tracestate: 'vendor=1' }]);
    await send({ traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` });
    expect(sdk.spans().at(-1)?.spanContext().traceId).not.toBe(TRACE_ID);
    expect(sdk.spans()[5]?.parentSpanContext).toBeUndefined();
  });
});

test.each([
  [TRACEPARENT, true],
  [`${TRACEPARENT}-more`, false],
  // A later version may have further fields.
  [`${TRACEPARENT.replace('00', '01')}-more`, true],
  [TRACEPARENT.replace('00', '01'), true],
  [`${TRACEPARENT.replace('00', '01')}more`, false],
  [TRACEPARENT.replace('00', 'ff'), false],
])('the header %s names a span: %s', (traceparent, isNamed) => {
  expect(remoteSpanOf({ traceparent })?.traceId).toBe(isNamed ? TRACE_ID : undefined);
});

test('an unknown option is refused', () => {
  expect(() => openTelemetry({ captureContents: true } as never)).toThrow(/captureContent/);
});
