import { AgentError, type BaseSessionService, LlmCallLimitError, ModelError, RunAbortedError } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type ScenarioOptions, IDS, runToError, saying, scenario } from '../fixtures/scenario.ts';
import { findLooseEnds } from '../find-loose-ends.ts';
import { dying } from './fixtures/dying-service.ts';

// The process of these runs ends between the error event and the last event.

/**
 * Plays a run, and resumes it after its process ended directly after its error event. Returns the failure of the
 * resumed run, and the stored events.
 */
async function killedBehindFailure(
  optionsOf: (reached: Gate) => ScenarioOptions,
  play: (run: Started) => Promise<unknown> = ({ ended }) => ended,
) {
  for (let at = 1; at < 20; at++) {
    const platform = fixedPlatform();
    const sessionService: BaseSessionService = new InMemorySessionService({ platform });
    await sessionService.createSession({ appName: 'app', ...IDS });
    const gate = new Gate();
    const { service } = dying(sessionService, at, true);
    const played = await scenario({
      ...optionsOf(gate),
      resumable: true,
      platform,
      sessionService: withoutCreate(service),
    });
    const controller = new AbortController();
    const ended = runToError(played.runner.runAsync(saying('hi', { abortSignal: controller.signal })));
    await play({ controller, gate, ended });
    const stored = await played.stored();
    if (stored.at(-1)?.errorCode === undefined) continue;
    const invocationId = stored[0]?.invocationId ?? '';
    const restarted = played.restart({ sessionService });
    const resumed = await runToError(restarted.runner.runAsync({ ...IDS, invocationId }));
    const record = await sessionService.findRun({ appName: 'app', ...IDS, id: invocationId });
    return {
      ...resumed,
      outcome: record?.end && { state: record.end.state, code: record.end.code },
      codes: (await played.stored()).flatMap(({ errorCode }) => errorCode ?? []),
      looseEnds: await findLooseEnds(sessionService, { appName: 'app', ...IDS }),
    };
  }
  return expect.unreachable('no process ended behind the error event');
}

interface Started {
  readonly gate: Gate;
  readonly controller: AbortController;
  readonly ended: Promise<unknown>;
}

/** Returns a service that refuses to create sessions, because the session exists. */
function withoutCreate(service: BaseSessionService): BaseSessionService {
  return new Proxy(service, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      return name === 'createSession' ? () => Promise.resolve() : found;
    },
  });
}

/** Aborts the run when it has reached the gate. */
async function abort({ controller, gate, ended }: Started): Promise<void> {
  await Promise.race([gate.reached, ended]);
  controller.abort();
  await ended;
}

test('an aborted run of a model agent that is resumed fails with RunAbortedError', async () => {
  const waiting = (gate: Gate): ScenarioOptions => ({ agent: { beforeModelCallback: () => gate.pass() } });
  const { error, ...stored } = await killedBehindFailure(waiting, abort);
  expect(error).toBeInstanceOf(RunAbortedError);
  expect(stored).toMatchObject({
    outcome: { state: 'interrupted', code: 'RUN_ABORTED' },
    codes: ['RUN_ABORTED'],
    looseEnds: [],
  });
});

test('an aborted run of a custom agent that is resumed fails with RunAbortedError, and its agent does not run again', async () => {
  let runs = 0;
  const waiting = (gate: Gate): ScenarioOptions => ({
    async *agent() {
      runs++;
      await gate.pass();
      yield modelEvent('bot', 'one');
    },
  });
  const { error, ...stored } = await killedBehindFailure(waiting, async (started) => {
    await abort(started);
    runs = 0;
  });
  expect([runs, error]).toEqual([0, expect.any(RunAbortedError)]);
  expect(stored).toMatchObject({ outcome: { state: 'interrupted' }, codes: ['RUN_ABORTED'], looseEnds: [] });
});

test.each([
  ['a failed model', { model: [new ModelError('busy', { errorCode: 'RESOURCE_EXHAUSTED' })] }, ModelError],
  ['a failed callback', { agent: { beforeModelCallback: failing } }, AgentError],
  ['the limit of model calls', { agent: { beforeModelCallback: limited } }, LlmCallLimitError],
] as const)('a run that ended with %s and is resumed fails with the same error', async (_, options, type) => {
  const { error, outcome, codes } = await killedBehindFailure(() => options);
  expect(type.isInstance(error), String(error)).toBe(true);
  expect(outcome).toMatchObject({ state: 'failed', code: codes[0] });
  expect(codes).toHaveLength(1);
});

function failing(): never {
  throw new TypeError('broken');
}

function limited(): never {
  throw new LlmCallLimitError('too many calls');
}
