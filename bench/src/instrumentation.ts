/**
 * Measures the time that instrumentation adds to W1 and W2: one that does nothing, a `SpanStore`, an `OtlpExporter`,
 * the spans of the SDK alone, and `openTelemetry()` with a batch exporter. The exporters make their batches and drop
 * them. "SDK alone" is a turn without instrumentation, and as many spans with as many attributes, started and ended one
 * after the other. Rounds are interleaved; prints the median and the tenth percentile in microseconds of processor time
 * a turn, and their ratios to those of a turn without instrumentation.
 *
 * node --expose-gc src/instrumentation.ts
 */
import type { Instrumentation } from '@eventloom/core';
import { SpanStore } from '@eventloom/dev';
import { openTelemetry, OtlpExporter } from '@eventloom/otel';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { InstantModel, ToolCallingModel } from './models.ts';
import { APP, createAgent, turn } from './setup.ts';

const ROUNDS = 11;
const TURNS = 150;

const exporter: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
  forceFlush: () => Promise.resolve(),
};
const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
const tracer = tracerProvider.getTracer('alone');
const SDK_ALONE = 'SDK alone';
const otlp = new OtlpExporter({ url: 'http://127.0.0.1/v1/traces', fetch: async () => new Response() });
const kinds: Readonly<Record<string, Instrumentation | undefined>> = {
  none: undefined,
  nothing: { start: () => ({ run: (step) => step(), end: () => undefined }) },
  [SDK_ALONE]: undefined,
  'span store': new SpanStore(),
  'OTLP exporter': otlp,
  'batch exporter': openTelemetry({ tracerProvider }),
};

for (const [name, createModel, spansBelowAgent] of [
  ['W1', () => new InstantModel(), 1],
  // 11 calls of the model and 10 of the tool.
  ['W2', () => new ToolCallingModel(10), 21],
] as const) {
  const times: Record<string, number[]> = {};
  for (let round = -3; round < ROUNDS; round++) {
    for (const [kind, instrumentation] of Object.entries(kinds)) {
      const sessionService = new InMemorySessionService();
      const runner = new Runner({
        appName: APP.appName,
        agent: createAgent(createModel()),
        sessionService,
        instrumentation,
      });
      globalThis.gc?.();
      const from = process.cpuUsage();
      for (let index = 0; index < TURNS; index++) {
        const sessionId = `s${index}`;
        await sessionService.createSession({ ...APP, sessionId });
        await turn(runner, sessionId);
        if (kind === SDK_ALONE) writeSpans(spansBelowAgent);
      }
      const { user, system } = process.cpuUsage(from);
      if (round >= 0) (times[kind] ??= []).push((user + system) / TURNS);
    }
  }
  const base = times['none'] ?? [];
  for (const [kind, taken] of Object.entries(times)) {
    const [half, tenth] = [0.5, 0.1].map((share) => {
      const each = at(taken, share);
      return `${each.toFixed(1).padStart(8)} µs ${(each / at(base, share)).toFixed(2)}×`;
    });
    console.log(`${name} ${kind.padEnd(16)} median ${half}, tenth ${tenth}`);
  }
}
console.log(otlp.spans);
await otlp.close();
await tracerProvider.shutdown();

/** Starts and ends the spans of a turn: a run, an agent, and their calls. */
function writeSpans(below: number): void {
  const attributes = () => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.conversation.id': 's',
    'eventloom.invocation_id': 'e',
    'gen_ai.agent.name': 'agent',
    'eventloom.execution_id': 'x',
    'gen_ai.provider.name': 'bench',
    'gen_ai.request.model': 'bench',
  });
  const run = tracer.startSpan('invoke_workflow', { attributes: attributes() }, ROOT_CONTEXT);
  const inRun = trace.setSpan(ROOT_CONTEXT, run);
  const agent = tracer.startSpan('invoke_agent', { attributes: attributes() }, inRun);
  const inAgent = trace.setSpan(inRun, agent);
  for (let index = 0; index < below; index++) {
    const call = tracer.startSpan('chat', { attributes: attributes(), kind: SpanKind.CLIENT }, inAgent);
    call.setAttributes({ 'gen_ai.response.model': 'bench', 'gen_ai.usage.input_tokens': 1 });
    call.end();
  }
  agent.end();
  run.end();
}

/** Returns the value below which a share of the values lies. */
function at(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
