/**
 * Measures what instrumentation adds to W1 and W2: nothing, a `SpanStore`, and `openTelemetry()` with a batch exporter that drops the spans.
 * Rounds are interleaved; prints medians in microseconds a turn, and their ratios to a turn without instrumentation.
 *
 * node --expose-gc src/instrumentation.ts
 */
import type { Instrumentation } from '@eventloom/core';
import { SpanStore } from '@eventloom/dev';
import { openTelemetry } from '@eventloom/otel';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { InstantModel, ToolCallingModel } from './models.ts';
import { APP, createAgent, turn } from './setup.ts';

const ROUNDS = 9;
const TURNS = 150;

const exporter: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
  forceFlush: () => Promise.resolve(),
};
const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
const kinds: Readonly<Record<string, Instrumentation | undefined>> = {
  none: undefined,
  'span store': new SpanStore(),
  'batch exporter': openTelemetry({ tracerProvider }),
};

for (const [name, createModel] of [
  ['W1', () => new InstantModel()],
  ['W2', () => new ToolCallingModel(10)],
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
      }
      const { user, system } = process.cpuUsage(from);
      if (round >= 0) (times[kind] ??= []).push((user + system) / TURNS);
    }
  }
  const base = median(times['none'] ?? []);
  for (const [kind, taken] of Object.entries(times)) {
    const each = median(taken);
    console.log(`${name} ${kind.padEnd(16)} ${each.toFixed(1).padStart(8)} µs ${(each / base).toFixed(2)}×`);
  }
}
await tracerProvider.shutdown();

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
