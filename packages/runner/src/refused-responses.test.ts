import { AgentTool } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { findLooseEnds } from './find-loose-ends.ts';
import {
  call,
  IDS,
  KEY,
  responsesOf,
  runToError,
  scenario,
  type Scenario,
  scripted,
  textOf,
} from './fixtures/scenario.ts';
import { dying } from './stored-runs/fixtures/dying-service.ts';

/** A tool that sets a text of so many megabytes in the user's state, which holds four. */
function toolOf(options: { readonly requireConfirmation?: boolean } = {}) {
  return new FunctionTool({
    name: 'remember',
    description: 'Remembers a text.',
    parameters: { type: 'object', properties: { key: { type: 'string' }, megabytes: { type: 'number' } } },
    execute: ({ key, megabytes }, { state }) => {
      state.set(`user:${String(key)}`, 'x'.repeat(Number(megabytes) * 1_000_000));
      return 'remembered';
    },
    ...options,
  });
}
const remember = toolOf();
const tooMuch = { calls: [call('remember', { key: 'a', megabytes: 4.1 }, 'c1')] };
const twoHalves = {
  calls: [call('remember', { key: 'a', megabytes: 2.5 }, 'c1'), call('remember', { key: 'b', megabytes: 2.5 }, 'c2')],
};
const NOT_STORED = {
  error: 'not_stored',
  message: expect.stringMatching(/^The call ran, but its result could not be stored: the state of the user /),
};

/** Expects that every call has one response, that no run is open, and that the session takes a message. */
async function expectWhole(played: Scenario): Promise<void> {
  const { sessionService } = played;
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  expect((await sessionService.listOpenRuns({ appName: 'app' })).runs).toEqual([]);
  expect((await played.restart({ model: ['next'] }).run()).map(textOf)).toContain('next');
}

describe.each([true, false])(
  'a run with tool results that are too large for the session (resumable: %j)',
  (resumable) => {
    test.each([
      ['of one call', tooMuch],
      ['of two calls that fit alone', twoHalves],
    ])('fails, and its calls are answered: %s', async (_, step) => {
      const played = await scenario({ model: [step], agent: { tools: [remember] }, resumable });
      const { events, error } = await runToError(played.start());
      expect(error).toMatchObject({ code: 'SIZE_LIMIT' });
      expect(responsesOf(events)).toEqual(step.calls.map(() => NOT_STORED));
      expect(events.at(-1)).toMatchObject({ errorCode: 'SIZE_LIMIT' });
      expect(await played.state()).toEqual({});
      await expectWhole(played);
    });

    test('fails, and its calls are answered: of a call that a person approved', async () => {
      const played = await scenario({
        model: [tooMuch, 'asked'],
        agent: { tools: [toolOf({ requireConfirmation: true })] },
        resumable,
      });
      const asked = (await played.run()).flatMap(({ content }) => content?.parts ?? []);
      const { id = '', name = '' } =
        asked.find(({ functionCall }) => functionCall?.name?.startsWith('adk_'))?.functionCall ?? {};
      const { error } = await runToError(
        played.start({ functionResponse: { id, name, response: { confirmed: true } } }),
      );
      expect(error).toMatchObject({ code: 'SIZE_LIMIT' });
      expect(responsesOf(await played.stored()).at(-1)).toEqual(NOT_STORED);
      await expectWhole(played);
    });

    test('of an agent that is called as a tool continues, and the calls of that agent are answered', async () => {
      const inner = scripted('inner', [tooMuch], { tools: [remember] });
      const model = [{ calls: [call('inner', { request: 'remember it' }, 'c')] }, 'done'];
      const played = await scenario({ model, agent: { tools: [new AgentTool({ agent: inner })] }, resumable });
      const events = await played.run();
      expect(events.map(textOf)).toContain('done');
      expect(responsesOf(events)).toEqual([{ error: expect.stringMatching(/^the state of the user takes/) }]);
      expect(responsesOf(await played.stored())[0]).toEqual(NOT_STORED);
      await expectWhole(played);
    });
  },
);

test('a call of an agent that failed as a tool is answered before its run ends', async () => {
  const inner = scripted('inner', [{ calls: [call('remember', { key: 'a', megabytes: 0 }, 'c1')] }], {
    tools: [remember],
    afterToolCallback: () => {
      throw new TypeError('no');
    },
  });
  const model = [{ calls: [call('inner', { request: 'remember it' }, 'c')] }, 'done'];
  const played = await scenario({ model, agent: { tools: [new AgentTool({ agent: inner })] } });
  expect((await played.run()).map(textOf).at(-1)).toBe('done');
  await expectWhole(played);
});

test('a run whose process ended after such a call can be closed', async () => {
  for (let at = 1; at < 20; at++) {
    const platform = fixedPlatform();
    const whole = new InMemorySessionService({ platform });
    const played = await scenario({ agent: { tools: [remember] }, resumable: true, platform, sessionService: whole });
    const killed = played.restart({ model: [tooMuch], sessionService: dying(whole, at, true).service });
    await runToError(killed.start());
    const invocationId = (await played.stored())[0]?.invocationId ?? '';
    const [entry] = await whole.listToolCalls({ ...KEY, invocationId });
    if (entry?.status !== 'finished') continue;
    await played.runner.closeRun({ ...IDS, invocationId, reason: 'given up' });
    expect(responsesOf(await played.stored())).toEqual([NOT_STORED]);
    await expectWhole(played);
    return;
  }
  expect.unreachable('no process ended after the call');
});
