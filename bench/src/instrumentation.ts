/**
 * Measures the processor time that instrumentation adds to W1 and W2: an instrumentation that does nothing, a
 * `SpanStore`, an `OtlpExporter`, only the spans of the SDK, and `openTelemetry()` with a batch exporter. These
 * exporters create their batches and drop them; "OTLP over HTTP" is an `OtlpExporter` that posts them to a server in
 * another process. "SDK alone" is a turn without instrumentation, and the same spans with the same attributes, started
 * and ended one after the other. "spans only" is those spans without a turn.
 *
 * Each measurement is a separate process, because code that is compiled for one instrumentation slows down the others; the processes take
 * turns. Prints the median of the processes and the fastest round of any, in microseconds a turn, and their ratios to a turn without
 * instrumentation.
 *
 * With `--delay`, each answer of the model takes so many milliseconds, 100 turns are in progress at once, and the time
 * of a turn by the clock is printed as well: its median in the process with the median processor time.
 *
 * node src/instrumentation.ts [--rounds=5] [--workloads=W1,W2] [--delay=300]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BaseLlm, type Instrumentation, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { SpanStore } from '@eventloom/dev';
import { openTelemetry, OtlpExporter } from '@eventloom/otel';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { type Measurement, summarize } from './measure.ts';
import { InstantModel, ToolCallingModel } from './models.ts';
import { APP, createAgent, turn } from './setup.ts';

/** A program that answers each request once it has read the body, and prints its port. */
const COLLECTOR = `require('http').createServer((request, response) => request.resume().on('end', () => response.end('{}'))).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`;
const ROUNDS = 15;
const WARMUPS = 5;
const SDK_ALONE = 'SDK alone';
const SPANS_ONLY = 'spans only';
const OTLP_HTTP = 'OTLP over HTTP';
/** Number of turns in progress at once, with a model that takes time. */
const AT_ONCE = 100;

/** The rounds of both workloads take about the same time. A turn of W2 has 11 calls of the model and 10 of the tool. */
const workloads = {
  W1: { createModel: () => new InstantModel(), turns: 2000, spansBelowAgent: 1 },
  W2: { createModel: () => new ToolCallingModel(10), turns: 200, spansBelowAgent: 21 },
};
type Workload = keyof typeof workloads;

const exporter: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
  forceFlush: () => Promise.resolve(),
};
const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
const tracer = tracerProvider.getTracer('alone');
/** The address of the server in another process, which is started for `OTLP_HTTP`. */
let collectorUrl = '';
const kinds: Readonly<Record<string, () => Instrumentation | undefined>> = {
  none: () => undefined,
  nothing: () => ({ start: () => ({ run: (step) => step(), end: () => undefined }) }),
  [SDK_ALONE]: () => undefined,
  [SPANS_ONLY]: () => undefined,
  'span store': () => new SpanStore(),
  'OTLP exporter': () => new OtlpExporter({ url: 'http://127.0.0.1/v1/traces', fetch: async () => new Response() }),
  [OTLP_HTTP]: () => new OtlpExporter({ url: collectorUrl }),
  'batch exporter': () => openTelemetry({ tracerProvider }),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    workloads: { type: 'string', default: 'W1,W2' },
    delay: { type: 'string', default: '0' },
  },
});
const delayMs = Number(values.delay);
const [own, kind = 'none'] = positionals;
interface TurnTimes extends Measurement {
  /** Median time of a turn by the clock, in milliseconds. */
  readonly clockMs: number;
}

/** Prints the times of all instrumentations, each measured in its own processes. */
function report(workload: string, rounds: number): void {
  const measured = new Map<string, TurnTimes[]>(Object.keys(kinds).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, list] of measured) {
      const output = execFileSync(process.execPath, [import.meta.filename, workload, name, `--delay=${delayMs}`]);
      list.push(JSON.parse(String(output)) as TurnTimes);
    }
  }
  let base = { median: Number.NaN, fastest: Number.NaN };
  for (const [name, list] of measured) {
    const median = summarize(list.map(({ medianUs }) => medianUs)).medianUs;
    const fastest = Math.min(...list.map(({ minUs }) => minUs));
    if (name === 'none') base = { median, fastest };
    console.log(
      `${workload} ${name.padEnd(16)} median ${median.toFixed(1).padStart(7)} µs ${(median / base.median).toFixed(2)}×, ` +
        `fastest round ${fastest.toFixed(1).padStart(7)} µs ${(fastest / base.fastest).toFixed(2)}×` +
        (delayMs > 0 ? `, by the clock ${summarize(list.map(({ clockMs }) => clockMs)).medianUs.toFixed(1)} ms` : ''),
    );
  }
}

/** Measures the turns of this process. */
async function measure(workload: Workload, name: string): Promise<TurnTimes> {
  const { createModel, turns, spansBelowAgent } = workloads[workload];
  const instrumentation = kinds[name]?.();
  const sessionService = new InMemorySessionService();
  const agent = createAgent(delayMs > 0 ? new DelayedModel(createModel()) : createModel());
  const runner = new Runner({ appName: APP.appName, agent, sessionService, instrumentation });
  const us: number[] = [];
  const clockMs: number[] = [];
  let sessions = 0;
  const makeTurn = async (): Promise<void> => {
    const sessionId = `s${sessions++}`;
    if (name !== SPANS_ONLY) {
      await sessionService.createSession({ ...APP, sessionId });
      const fromMs = performance.now();
      await turn(runner, sessionId);
      clockMs.push(performance.now() - fromMs);
      await sessionService.deleteSession({ ...APP, sessionId });
    }
    if (name === SDK_ALONE || name === SPANS_ONLY) writeSpans(sessionId, spansBelowAgent);
  };
  const count = delayMs > 0 ? AT_ONCE : turns;
  for (let round = -WARMUPS; round < ROUNDS; round++) {
    const from = process.cpuUsage();
    if (delayMs > 0) await Promise.all(Array.from({ length: count }, makeTurn));
    else
      for (let index = 0; index < count; index++) {
        await makeTurn();
        // The exporters send their batches between turns.
        if (index % 20 === 0) await setImmediate();
      }
    const { user, system } = process.cpuUsage(from);
    if (round >= 0) us.push((user + system) / count);
  }
  if (instrumentation instanceof OtlpExporter) await instrumentation.close();
  return { ...summarize(us), clockMs: summarize(clockMs).medianUs };
}

/** A model that answers after `delayMs`. */
class DelayedModel extends BaseLlm {
  readonly #model: BaseLlm;

  constructor(model: BaseLlm) {
    super({ model: model.model });
    this.#model = model;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    await setTimeout(delayMs);
    yield* this.#model.generateContentAsync(request);
  }
}

/** Starts and ends the spans of a turn: a run, an agent, and their calls, with the attributes that `openTelemetry()` gives to them. */
function writeSpans(sessionId: string, below: number): void {
  const ofRun = { 'gen_ai.conversation.id': sessionId, 'eventloom.invocation_id': `e-${sessionId}` };
  const run = tracer.startSpan(
    'invoke_workflow bench',
    { attributes: { ...ofRun, 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.agent.name': 'bench' } },
    ROOT_CONTEXT,
  );
  const inRun = trace.setSpan(ROOT_CONTEXT, run);
  const ofAgent = { ...ofRun, 'gen_ai.agent.name': 'agent', 'eventloom.execution_id': `x-${sessionId}` };
  const agent = tracer.startSpan(
    'invoke_agent agent',
    { attributes: { ...ofAgent, 'gen_ai.operation.name': 'invoke_agent' } },
    inRun,
  );
  const inAgent = trace.setSpan(inRun, agent);
  for (let index = 0; index < below; index++) {
    const attributes = {
      ...ofAgent,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'bench',
      'gen_ai.provider.name': 'bench',
    };
    tracer.startSpan('chat bench', { kind: SpanKind.CLIENT, attributes }, inAgent).end();
  }
  agent.end();
  run.end();
}

if (own !== undefined) {
  const collector = kind === OTLP_HTTP ? spawn(process.execPath, ['-e', COLLECTOR]) : undefined;
  if (collector)
    collectorUrl = `http://127.0.0.1:${String((await once(collector.stdout, 'data'))[0]).trim()}/v1/traces`;
  console.log(JSON.stringify(await measure(own as Workload, kind)));
  collector?.kill();
} else for (const workload of values.workloads.split(',')) report(workload, Number(values.rounds));
await tracerProvider.shutdown();
