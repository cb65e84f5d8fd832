/**
 * Counts what instrumentation adds to a turn with one tool call, and prints it as JSON: the promises of the turn, and
 * the functions that it enters in the files of instrumentation and of OpenTelemetry. `absent`: no package was loaded.
 * `unused`: packages and an SDK are loaded, and the runner has no instrumentation. `used`: the runner has it.
 */
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import type { Instrumentation } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ToolCallingModel } from '../models.ts';
import { APP, createAgent, turn } from '../setup.ts';

const WARM_UP = 20;
const TURNS = 10;
const OBSERVERS = /packages\/(?:core\/src\/instrumentation|otel\/src|dev\/src)\/|opentelemetry/;

export interface InstrumentationCounts {
  /** Number of promises of a turn. */
  readonly promises: number;
  /** Number of calls of instrumentation functions in all turns. */
  readonly calls: number;
}

const absent = await count(undefined);
const { openTelemetry } = await import('@eventloom/otel');
const { trace } = await import('@opentelemetry/api');
const { TracerProvider } = await import('@opentelemetry/sdk-trace');
trace.setGlobalTracerProvider(new TracerProvider());
const instrumentation = openTelemetry();
const unused = await count(undefined);
const used = await count(instrumentation);
console.log(JSON.stringify({ absent, unused, used }));

async function count(observer: Instrumentation | undefined): Promise<InstrumentationCounts> {
  const sessionService = new InMemorySessionService();
  const agent = createAgent(new ToolCallingModel(1));
  const runner = new Runner({ appName: APP.appName, agent, sessionService, instrumentation: observer });
  let id = 0;
  const work = async (): Promise<void> => {
    const sessionId = `s${id++}`;
    await sessionService.createSession({ ...APP, sessionId });
    await turn(runner, sessionId);
  };
  for (let index = 0; index < WARM_UP; index++) await work();
  return { promises: await countPromises(work), calls: await countCalls(work) };
}

async function countPromises(work: () => Promise<void>): Promise<number> {
  let promises = 0;
  const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && promises++) }).enable();
  for (let index = 0; index < TURNS; index++) await work();
  hook.disable();
  return promises / TURNS;
}

async function countCalls(work: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  for (let index = 0; index < TURNS; index++) await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  let calls = 0;
  for (const { url, functions } of result)
    if (OBSERVERS.test(url)) for (const { ranges } of functions) calls += ranges[0]?.count ?? 0;
  return calls;
}
