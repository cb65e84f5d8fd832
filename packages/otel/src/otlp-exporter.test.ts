import { InMemorySessionService } from '@eventloom/sessions';
import { Runner } from '@eventloom/runner';
import { type FixedPlatform, fixedPlatform, ScriptedModel, type ScriptedStep, testContext } from '@eventloom/testing';
import { LlmAgent } from '@eventloom/llm-agent';
import { FunctionTool } from '@eventloom/tools';
import { expect, test, vi } from 'vitest';
import { isRecord } from '@eventloom/core/internal';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import type { ActiveOperation } from '@eventloom/core';
import { recordingSdks } from './fixtures/recording-sdks.ts';
import { decodeRequest, encodeRefusal } from './fixtures/otlp-requests.ts';
import { openTelemetry, OtlpExporter, type OtlpExporterOptions, SpanExportError } from './index.ts';

const URL = 'https://collector.example/v1/traces';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

/** The part of a request that the tests read. */
interface Sent {
  readonly resourceSpans: readonly [
    {
      readonly resource: { readonly attributes: SentSpan['attributes'] };
      readonly scopeSpans: readonly [
        { readonly scope: { readonly name: string }; readonly spans: readonly SentSpan[] },
      ];
    },
  ];
}

/** A collector that gives the answers in order, and then accepts everything. An answer of undefined never arrives. */
class Collector {
  readonly requests: { readonly url: string; readonly init: RequestInit; readonly sent: Sent }[] = [];
  readonly #answers: ((() => Response) | undefined)[];

  constructor(...answers: ((() => Response) | undefined)[]) {
    this.#answers = answers;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const body = init.body instanceof Uint8Array ? init.body : expect.unreachable();
    this.requests.push({ url, init, sent: decodeRequest(body) as Sent });
    const answer = this.#answers.length > 0 ? this.#answers.shift() : () => Response.json({ partialSuccess: {} });
    if (answer) return answer();
    return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
  };

  get spans(): SentSpan[] {
    return this.requests.flatMap(({ sent }) => sent.resourceSpans[0].scopeSpans[0].spans);
  }
}

function setUp(collector: Collector, options: Partial<OtlpExporterOptions> = {}, steps: ScriptedStep[] = ['done']) {
  const platform = fixedPlatform();
  const exporter = new OtlpExporter({ url: URL, fetch: collector.fetch, ...options });
  const passed: Readonly<Record<string, string>>[] = [];
  const look = new FunctionTool({
    name: 'look',
    description: 'Looks.',
    execute: (_args, { traceHeaders }) => {
      passed.push(traceHeaders);
      return { seen: 'the secret of ann' };
    },
  });
  const model = new ScriptedModel(steps);
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model, tools: [look] }),
    sessionService: new InMemorySessionService({ platform }),
    platform,
    autoCreateSession: true,
    instrumentation: exporter,
  });
  const run = async (traceHeaders?: Readonly<Record<string, string>>) =>
    runner.run({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'the secret of ann' }] }, traceHeaders });
  return { platform, exporter, passed, run };
}

/** Returns the messages of the errors that were reported. */
async function reportsOf(platform: FixedPlatform): Promise<string> {
  return platform.drain().then(
    () => '',
    (error: unknown) => (SpanExportError.isInstance(error) ? error.message : expect.unreachable(String(error))),
  );
}

const usage = { promptTokenCount: 1000, candidatesTokenCount: 20 };
const calling: ScriptedStep = {
  parts: [{ functionCall: { id: 'c', name: 'look', args: { where: 'the secret of ann' } } }],
  response: { usageMetadata: usage, modelVersion: 'scripted-7', finishReason: 'STOP' },
};

test('the spans of a turn are sent after the delay, in one request, with their parents and attributes', async () => {
  const collector = new Collector();
  const options = {
    headers: { authorization: 'Bearer key' },
    serviceName: 'travel',
    resource: { 'service.version': '1.2' },
    prices: { scripted: { input: 2, output: 10 } },
  };
  const { platform, exporter, run } = setUp(collector, options, [calling, 'done']);
  await run();
  expect(collector.requests).toEqual([]);
  expect(exporter.spans).toEqual({ exported: 0, dropped: 0, failed: 0, queued: 5 });
  platform.advance(5000);
  await platform.drain();
  expect(exporter.spans).toEqual({ exported: 5, dropped: 0, failed: 0, queued: 0 });
  const [request] = collector.requests;
  expect(request?.url).toBe(URL);
  expect(request?.init).toMatchObject({
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/x-protobuf' },
    redirect: 'manual',
  });
  expect(request?.sent.resourceSpans[0].resource.attributes).toEqual([
    { key: 'service.name', value: { stringValue: 'travel' } },
    { key: 'service.version', value: { stringValue: '1.2' } },
  ]);
  const nameOf = new Map(collector.spans.map(({ spanId, name }) => [spanId, name]));
  expect(
    collector.spans.map(({ name, kind, parentSpanId = '' }) => `${name} ${kind} < ${nameOf.get(parentSpanId)}`),
  ).toEqual([
    'chat scripted 3 < invoke_agent bot',
    'execute_tool look 1 < invoke_agent bot',
    'chat scripted 3 < invoke_agent bot',
    'invoke_agent bot 1 < invoke_workflow app',
    'invoke_workflow app 1 < undefined',
  ]);
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
  const [chat] = collector.spans;
  expect(chat).toMatchObject({
    traceId: expect.stringMatching(/^[\da-f]{32}$/),
    spanId: expect.stringMatching(/^[\da-f]{16}$/),
    startTimeUnixNano: '1767225600000000000',
    endTimeUnixNano: '1767225600000000000',
  });
  expect(chat?.status).toBeUndefined();
  expect(chat?.attributes).toEqual(
    expect.arrayContaining([
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.conversation.id', value: { stringValue: 's' } },
      { key: 'gen_ai.provider.name', value: { stringValue: 'ScriptedModel' } },
      { key: 'gen_ai.response.model', value: { stringValue: 'scripted-7' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '1000' } },
      { key: 'gen_ai.response.finish_reasons', value: { arrayValue: { values: [{ stringValue: 'stop' }] } } },
      { key: 'eventloom.cost', value: { doubleValue: 0.0022 } },
    ]),
  );
  expect(JSON.stringify(request?.sent)).not.toMatch(/secret|"ann"/);
});

test('content, users and the texts of errors are in the spans if the options request them', async () => {
  const collector = new Collector();
  const failing: ScriptedStep = () => {
    throw new TypeError('the cause of it');
  };
  const { exporter, run } = setUp(collector, { captureContent: true, captureUserId: true }, [calling, failing]);
  await run().catch(() => undefined);
  await exporter.close();
  const text = JSON.stringify(collector.spans);
  for (const each of ['gen_ai.input.messages', 'gen_ai.tool.call.arguments', 'gen_ai.tool.call.result', '"ann"'])
    expect(text).toContain(each);
  const failed = collector.spans.filter(({ name, status }) => name === 'chat scripted' && status?.code === 2);
  expect(failed.map(({ status }) => status?.message)).toEqual(['the cause of it']);
});

test('a run continues the trace of its request, and a tool passes its span on', async () => {
  const collector = new Collector();
  const { exporter, passed, run } = setUp(collector, {}, [calling, 'done', calling, 'done']);
  await run({ traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01`, tracestate: 'vendor=1' });
  await exporter.flush();
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
  expect(collector.spans.at(-1)).toMatchObject({ parentSpanId: 'b7ad6b7169203331', traceState: 'vendor=1' });
  const tool = collector.spans.find(({ name }) => name === 'execute_tool look');
  expect(passed).toEqual([{ traceparent: `00-${TRACE_ID}-${tool?.spanId}-01`, tracestate: 'vendor=1' }]);
  // The other service does not record this trace.
  await run({ traceparent: `00-${TRACE_ID}-b7ad6b7169203331-00` });
  await exporter.flush();
  expect(collector.requests).toHaveLength(1);
  expect(passed[1]?.['traceparent']).toMatch(/-00$/);
});

test('a full batch is sent at once, and spans that exceed the queue are dropped, counted and reported', async () => {
  const collector = new Collector(undefined);
  const { platform, exporter, run } = setUp(collector, { maxBatchSize: 3, maxQueueSize: 4 }, ['one', 'two']);
  await run();
  expect(collector.requests).toHaveLength(1);
  await run();
  expect(exporter.spans).toEqual({ exported: 0, dropped: 2, failed: 0, queued: 4 });
  platform.advance(5000);
  expect(collector.requests).toHaveLength(2);
  const closing = exporter.close();
  // The time-out of the first request, which is repeated once.
  platform.advance(5000);
  await closing;
  expect(collector.requests).toHaveLength(3);
  expect(await reportsOf(platform)).toBe(
    'OtlpExporter: dropped 2 spans, because spans that waited for the collector filled the queue (maxQueueSize: 4, and 32 MiB)',
  );
  expect(exporter.spans).toEqual({ exported: 4, dropped: 2, failed: 0, queued: 0 });
});

test.each([
  [{ maxQueueSize: 12 }, [3, 3], 0],
  // The fifth span ends before the collector can answer.
  [{ maxQueueSize: 4, maxBatchSize: 512 }, [4], 2],
])('spans that only wait for others do not fill the queue, with %j', async (options, sizes, dropped) => {
  const collector = new Collector();
  const { platform, exporter, run } = setUp(collector, options, ['one', 'two']);
  await run();
  await platform.drain();
  await run();
  await platform.drain();
  expect(collector.requests.map(({ sent }) => sent.resourceSpans[0].scopeSpans[0].spans.length)).toEqual(sizes);
  expect(exporter.spans.dropped).toBe(dropped);
});

test('the report of dropped spans says that the queue was full, although it is empty when the exporter closes', async () => {
  const { platform, exporter, run } = setUp(new Collector(), { maxQueueSize: 2 }, ['one']);
  await run();
  await expect.poll(() => exporter.spans).toEqual({ exported: 2, dropped: 1, failed: 0, queued: 0 });
  await exporter.close();
  expect(await reportsOf(platform)).toMatch(/dropped 1 spans, because .* filled the queue \(maxQueueSize: 2, /);
});

test('waiting spans of more than 4 MiB are sent at once', async () => {
  const collector = new Collector();
  const options = { captureContent: true, maxContentLength: 10_000_000 };
  const { platform, exporter, run } = setUp(collector, options, ['x'.repeat(3_000_000), 'two']);
  await run();
  expect(collector.requests).toEqual([]);
  // The request to the model has the first answer.
  await run();
  expect(collector.spans.map(({ name }) => name)).toEqual([
    'chat scripted',
    'invoke_agent bot',
    'invoke_workflow app',
    'chat scripted',
  ]);
  platform.advance(5000);
  await platform.drain();
  expect(exporter.spans).toEqual({ exported: 6, dropped: 0, failed: 0, queued: 0 });
});

test('further spans are dropped while spans of 32 MiB wait or are being sent', async () => {
  const collector = new Collector(undefined, undefined);
  const options = { captureContent: true, maxContentLength: 20_000_000 };
  const { platform, exporter, run } = setUp(collector, options, ['x'.repeat(17_000_000), 'two', 'three']);
  await run();
  // The request to the model has the first answer.
  await run();
  expect(exporter.spans).toEqual({ exported: 0, dropped: 2, failed: 0, queued: 4 });
  const flushing = exporter.flush();
  platform.advance(10_000);
  await expect.poll(() => platform.nextTimer()).toBe(1000);
  platform.advance(1000);
  await flushing;
  expect(exporter.spans).toEqual({ exported: 4, dropped: 2, failed: 0, queued: 0 });
  // The bytes of delivered spans no longer count.
  await run();
  await exporter.close();
  expect(exporter.spans).toEqual({ exported: 7, dropped: 2, failed: 0, queued: 0 });
  expect(await reportsOf(platform)).toBe(
    'OtlpExporter: dropped 2 spans, because spans that waited for the collector filled the queue (maxQueueSize: 8192, and 32 MiB)',
  );
});

test.each([
  ['the network fails', () => Promise.reject(new TypeError('no network')) as never, 1000],
  ['the collector is overloaded', () => new Response('', { status: 503 }), 1000],
  ['the collector asks for a wait', () => new Response('', { status: 429, headers: { 'retry-after': '7' } }), 7000],
] as const)('a batch is sent again after a wait when %s', async (_, answer, waitMs) => {
  const collector = new Collector(answer);
  const { platform, exporter, run } = setUp(collector);
  await run();
  platform.advance(5000);
  await expect.poll(() => platform.nextTimer()).toBe(waitMs);
  platform.advance(waitMs - 1);
  expect(collector.requests).toHaveLength(1);
  platform.advance(1);
  await platform.drain();
  expect(collector.requests).toHaveLength(2);
  expect(exporter.spans).toEqual({ exported: 3, dropped: 0, failed: 0, queued: 0 });
  expect(platform.pendingTimers).toBe(0);
});

test('a wait before the next attempt keeps the program alive only while a flush waits for it', async () => {
  const busy = () => new Response('', { status: 503 });
  const collector = new Collector(busy, busy);
  const { platform, exporter, run } = setUp(collector);
  const schedule = vi.spyOn(platform, 'schedule');
  await run();
  platform.advance(5000);
  await expect.poll(() => platform.nextTimer()).toBe(1000);
  expect(schedule).toHaveBeenLastCalledWith(1000, expect.any(Function), { idle: true });
  // The time limit of the request: a Durable Object runs idle timers early.
  expect(schedule).toHaveBeenCalledWith(10_000, expect.any(Function));
  // Ends the wait; the second attempt fails too.
  const flushing = exporter.flush();
  await expect.poll(() => platform.nextTimer()).toBe(2000);
  expect(schedule).toHaveBeenLastCalledWith(2000, expect.any(Function), { idle: false });
  platform.advance(2000);
  await flushing;
  expect(exporter.spans).toEqual({ exported: 3, dropped: 0, failed: 0, queued: 0 });
});

test('a batch that is sent again has the same spans, although later batches were sent meanwhile', async () => {
  const collector = new Collector(() => new Response('', { status: 503 }));
  const { platform, run } = setUp(collector, { maxBatchSize: 3 }, ['one', 'two', 'three']);
  await run();
  await expect.poll(() => platform.nextTimer()).toBe(1000);
  await run();
  await expect.poll(() => collector.requests.length).toBe(2);
  await run();
  platform.advance(1000);
  await platform.drain();
  expect(collector.requests).toHaveLength(4);
  expect(collector.requests[3]?.sent).toEqual(collector.requests[0]?.sent);
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(9);
});

test('spans of sessions that take turns, in any size of batch, have the attributes that the SDK gets', async () => {
  const [, createSdk] = recordingSdks.at(-1) ?? expect.unreachable();
  const sessionIds = ['s', 'é'.repeat(40), 'a'.repeat(97), 'b'.repeat(127), '😀', 'c'.repeat(40)];
  for (const maxBatchSize of [1, 2, 3, 7, 512]) {
    const sdk = createSdk();
    const collector = new Collector();
    const settings = { captureUserId: maxBatchSize === 7, prices: { scripted: { input: 2, output: 10 } } };
    const exporter = new OtlpExporter({ url: URL, fetch: collector.fetch, maxBatchSize, ...settings });
    const inner = new LlmAgent({ name: 'inner', description: 'Helps.', model: new ScriptedModel(sessionIds) });
    const runners = sessionIds.map((sessionId, index) => {
      const calls = ['look', 'missing', 'inner'].map((name) => ({
        functionCall: { id: `${sessionId}-${name}`, name, args: { request: 'x' } },
      }));
      const steps: ScriptedStep[] = [
        calling,
        { parts: calls },
        { chunks: ['a', 'b'] },
        { response: { errorCode: 'SAFETY' } },
      ];
      return new Runner({
        appName: index % 2 === 0 ? 'app' : 'ä'.repeat(90),
        agent: new LlmAgent({
          name: `bot${index}`,
          model: new ScriptedModel(steps),
          generateContentConfig: { temperature: index / 10, topK: index },
          tools: [
            new FunctionTool({ name: 'look', description: 'Looks.', execute: async () => ({}) }),
            new AgentTool({ agent: inner }),
          ],
        }),
        sessionService: new InMemorySessionService(),
        platform: fixedPlatform(),
        autoCreateSession: true,
        instrumentation: [exporter, openTelemetry({ tracerProvider: sdk.tracerProvider, ...settings })],
      });
    });
    const run = (runner: Runner, index: number) =>
      runner
        .run({ userId: 'ann', sessionId: sessionIds[index] ?? '', newMessage: { parts: [{ text: 'hi' }] } })
        .catch(() => undefined);
    for (let turn = 0; turn < 2; turn++) await Promise.all(runners.map(run));
    await exporter.close();
    expect(collector.spans.length).toBeGreaterThan(80);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(12);
    expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
    const sent = collector.spans.map(({ name, attributes }) =>
      describeSpan(name, Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))),
    );
    expect(sent.toSorted()).toEqual(
      sdk
        .spans()
        .map(({ name, attributes }) => describeSpan(name, attributes))
        .toSorted(),
    );
  }
});

test('spans of an agent that has a session of its own within a run have the id of that session', async () => {
  const collector = new Collector();
  const { exporter } = setUp(collector);
  const outer = testContext();
  const inner = testContext();
  Object.assign(inner.invocation.session, { id: 'own' });
  const run = exporter.start({ kind: 'run', context: outer, resumed: false }, undefined);
  for (const context of [outer, inner, outer]) exporter.start({ kind: 'agent', context }, run).end({ status: 'ok' });
  run.end({ status: 'ok' });
  await exporter.flush();
  const sessionIds = collector.spans.map(({ attributes }) =>
    attributes.flatMap(({ key, value }) => (key === 'gen_ai.conversation.id' ? valueOf(value) : [])),
  );
  expect(sessionIds).toEqual([['s'], ['own'], ['s'], ['s']]);
});

test('spans of models that have one name have the provider of their own model', async () => {
  class OtherModel extends ScriptedModel {}
  const collector = new Collector();
  const exporter = new OtlpExporter({ url: URL, fetch: collector.fetch });
  const models = [new ScriptedModel(['one']), new OtherModel(['two']), new ScriptedModel(['three'])];
  const subAgents = models.map((model, index) => new LlmAgent({ name: `bot${index}`, model }));
  const runner = new Runner({
    appName: 'app',
    agent: new SequentialAgent({ name: 'all', subAgents }),
    sessionService: new InMemorySessionService(),
    platform: fixedPlatform(),
    autoCreateSession: true,
    instrumentation: exporter,
  });
  await runner.run({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  await exporter.close();
  const providers = collector.spans.flatMap(({ attributes }) =>
    attributes.flatMap(({ key, value }) => (key === 'gen_ai.provider.name' ? valueOf(value) : [])),
  );
  expect(providers).toEqual(['ScriptedModel', 'OtherModel', 'ScriptedModel']);
});

function describeSpan(name: string, attributes: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([name, Object.entries(attributes).toSorted(([one], [other]) => (one < other ? -1 : 1))]);
}

/** Returns the value of an attribute as the API of OpenTelemetry has it. */
function valueOf({ intValue, arrayValue, ...others }: Readonly<Record<string, unknown>>): unknown {
  if (intValue !== undefined) return Number(intValue);
  const values = isRecord(arrayValue) ? arrayValue['values'] : undefined;
  return Array.isArray(values) ? values.map(valueOf) : Object.values(others)[0];
}

test('a span that has ended refers to nothing of its run', async () => {
  const spans: ActiveOperation[] = [];
  const contexts: object[] = [];
  const { exporter, run } = setUp(new Collector(), {}, [calling, 'done']);
  const start = exporter.start.bind(exporter);
  vi.spyOn(exporter, 'start').mockImplementation((operation, parent) => {
    contexts.push(operation, operation.context);
    const span = start(operation, parent);
    spans.push(span);
    return span;
  });
  await run();
  expect(spans).toHaveLength(5);
  for (const span of spans) for (const value of Object.values(span)) expect(contexts).not.toContain(value);
});

test('texts and numbers of any size arrive as they are', async () => {
  const resource = {
    short: 'a'.repeat(127),
    medium: 'b'.repeat(128),
    long: 'ü€😀'.repeat(10_000),
    half: 'x\ud83d',
    negative: -3,
    large: Number.MAX_SAFE_INTEGER,
    larger: 2 ** 60,
    fraction: 0.1,
    flag: false,
  };
  const collector = new Collector();
  const options = { captureContent: true, maxContentLength: 1_000_000, resource };
  const { exporter, run } = setUp(collector, options, ['one', '€'.repeat(100_000), 'three']);
  for (let turn = 0; turn < 3; turn++) await run();
  await exporter.flush();
  expect(collector.requests[0]?.sent.resourceSpans[0].resource.attributes.slice(1)).toEqual([
    { key: 'short', value: { stringValue: resource.short } },
    { key: 'medium', value: { stringValue: resource.medium } },
    { key: 'long', value: { stringValue: resource.long } },
    { key: 'half', value: { stringValue: 'x\ufffd' } },
    { key: 'negative', value: { intValue: '-3' } },
    { key: 'large', value: { intValue: '9007199254740991' } },
    { key: 'larger', value: { doubleValue: 2 ** 60 } },
    { key: 'fraction', value: { doubleValue: 0.1 } },
    { key: 'flag', value: { boolValue: false } },
  ]);
  const replies = collector.spans.flatMap(({ attributes }) =>
    attributes.filter(({ key }) => key === 'gen_ai.output.messages').map(({ value }) => String(value['stringValue'])),
  );
  expect(replies.map((reply) => reply.includes('€'.repeat(100_000)))).toEqual([false, true, false]);
  expect(collector.spans).toHaveLength(9);
});

test('a span that cannot be written is reported and left out, and the others arrive', async () => {
  const collector = new Collector();
  const prices = {
    get scripted(): never {
      throw new TypeError('no price');
    },
  };
  const { platform, exporter, run } = setUp(collector, { prices }, [calling, 'done']);
  await run();
  await exporter.flush();
  await expect(platform.drain()).rejects.toThrow('no price');
  expect(collector.spans.map(({ name }) => name)).toEqual([
    'execute_tool look',
    'chat scripted',
    'invoke_agent bot',
    'invoke_workflow app',
  ]);
  expect(exporter.spans).toEqual({ exported: 4, dropped: 0, failed: 1, queued: 0 });
});

test('a batch is dropped after an answer that rules out success of further attempts', async () => {
  const collector = new Collector(() => new Response('', { status: 401 }));
  const { platform, exporter, run } = setUp(collector);
  await run();
  platform.advance(5000);
  expect(await reportsOf(platform)).toBe(
    'OtlpExporter: 3 spans were not delivered: the collector answered with status 401',
  );
  expect(collector.requests).toHaveLength(1);
  expect(exporter.spans).toEqual({ exported: 0, dropped: 0, failed: 3, queued: 0 });
});

test.each([
  ['JSON', () => Response.json({ partialSuccess: { rejectedSpans: '2', errorMessage: 'too old' } })],
  [
    'protobuf',
    () => new Response(encodeRefusal(2, 'too old'), { headers: { 'content-type': 'application/x-protobuf' } }),
  ],
])('spans that the collector refuses of a batch in %s are counted and reported', async (_, answer) => {
  const collector = new Collector(answer);
  const { platform, exporter, run } = setUp(collector);
  await run();
  await exporter.flush();
  expect(await reportsOf(platform)).toBe('OtlpExporter: 2 spans were refused by the collector: too old');
  expect(exporter.spans).toEqual({ exported: 1, dropped: 0, failed: 2, queued: 0 });
});

test('a request without an answer ends at its time-out, and closing tries once more and drops later spans', async () => {
  const collector = new Collector(undefined, () => new Response('', { status: 503 }));
  const { platform, exporter, run } = setUp(collector, { timeoutMs: 300 }, ['one', 'two']);
  await run();
  platform.advance(5000);
  platform.advance(300);
  expect(collector.requests[0]?.init.signal?.aborted).toBe(true);
  // The wait before the next attempt.
  await expect.poll(() => platform.nextTimer()).toBe(1000);
  await exporter.close();
  expect(collector.requests).toHaveLength(2);
  expect(exporter.spans).toEqual({ exported: 0, dropped: 0, failed: 3, queued: 0 });
  await run();
  expect(exporter.spans).toEqual({ exported: 0, dropped: 3, failed: 3, queued: 0 });
  expect(collector.requests).toHaveLength(2);
  expect(await reportsOf(platform)).toContain('3 spans were not delivered: the collector answered with status 503');
});

test('closing ends after two time-outs although fetch ignores its signal', async () => {
  const fetch = () => new Promise<never>(() => undefined);
  const { platform, exporter, run } = setUp(new Collector(), { timeoutMs: 300, fetch });
  await run();
  const closing = exporter.close();
  platform.advance(300);
  await expect.poll(() => platform.nextTimer()).toBe(300);
  platform.advance(300);
  await closing;
  expect(exporter.spans).toEqual({ exported: 0, dropped: 0, failed: 3, queued: 0 });
  expect(await reportsOf(platform)).toBe('OtlpExporter: 3 spans were not delivered: no answer within 300 ms');
});

test('the bytes of a request that ended before its fetch are not used again', async () => {
  const collector = new Collector();
  const bodies: Uint8Array[] = [];
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    bodies.push(init.body instanceof Uint8Array ? init.body : expect.unreachable());
    return bodies.length === 1 ? new Promise(() => undefined) : collector.fetch(url, init);
  };
  const { platform, exporter, run } = setUp(collector, { maxBatchSize: 3, fetch }, ['1', '2', '3', '4']);
  await run();
  const copy = bodies[0]?.slice();
  platform.advance(10_000);
  await expect.poll(() => platform.nextTimer()).toBe(1000);
  platform.advance(1000);
  await platform.drain();
  for (let turn = 0; turn < 3; turn++) {
    await run();
    await platform.drain();
  }
  expect(exporter.spans).toEqual({ exported: 12, dropped: 0, failed: 0, queued: 0 });
  expect(bodies[0]).toEqual(copy);
});

test('an address that is not http, a header that is not text and an unknown option are refused', () => {
  expect(() => new OtlpExporter({ url: 'localhost:4317' })).toThrow(/http:\/\/localhost:4318\/v1\/traces/);
  expect(() => new OtlpExporter({ url: URL, headers: { key: 1 } as never })).toThrow(/"key".*the number 1/);
  expect(() => new OtlpExporter({ endpoint: URL } as never)).toThrow(/has no option "endpoint"; write url: 'http/);
  expect(() => new OtlpExporter({ url: URL, queueSize: 1 } as never)).toThrow(/maxQueueSize/);
});
