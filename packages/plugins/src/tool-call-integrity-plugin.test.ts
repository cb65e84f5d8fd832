import {
  BasePlugin,
  ConfigurationError,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  parseEvent,
  type SessionRecord,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { fixedPlatform, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { ToolCallIntegrityError } from './errors.ts';
import { KEY, play } from './fixtures/play.ts';
import { ToolCallIntegrityPlugin, type ToolCallIntegrityPluginOptions } from './tool-call-integrity-plugin.ts';

const SECRET = 'a-secret-of-some-length';
const STAMPS = '__adk_internal_fc_hmac';

type Change = (event: Event) => Event;

/** Runs a money transfer that a person confirms; `change` modifies the stored events before the answer. */
async function transfer(
  change: Change = (event) => event,
  options: Partial<ToolCallIntegrityPluginOptions> = {},
  before = options,
) {
  const paid: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (args) => {
      paid.push(args);
      return { paid: true };
    },
  });
  const call = { id: 'c1', name: 'pay', args: { euros: 5, to: { name: 'Ann' } } };
  const platform = fixedPlatform();
  const setUp = (plugins: ToolCallIntegrityPlugin[], ...model: ScriptedStep[]) =>
    play({
      plugins,
      model,
      platform,
      agent: { tools: [pay], subAgents: [new LlmAgent({ name: 'eve', tools: [pay] })] },
    });
  const { runner, run } = await setUp([new ToolCallIntegrityPlugin({ secretKey: SECRET, ...before })], {
    calls: [call],
  });
  const asked = await run('Pay Ann 5 euros.');
  const id = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation')?.id ?? '';
  const records: SessionRecord[] = [];
  for await (const record of runner.sessionService.exportSession(KEY))
    records.push('event' in record ? { ...record, event: change(record.event) } : record);
  const next = await setUp([new ToolCallIntegrityPlugin({ secretKey: SECRET, ...options })], 'Done.');
  await next.runner.sessionService.deleteSession(KEY);
  await next.runner.sessionService.importSession({ records });
  const answer = { functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } } };
  const answered = next.run({ role: 'user', parts: [answer] });
  return { asked, answered, paid };
}

/** Changes the call of the tool in the event that has it. */
function changeCall(change: (call: Record<string, unknown>) => Record<string, unknown>): Change {
  return (event) => {
    const parts = event.content?.parts?.map((part) =>
      part.functionCall?.name === 'pay' ? { functionCall: change({ ...part.functionCall }) } : part,
    );
    return parts ? ({ ...event, content: { ...event.content, parts } } as Event) : event;
  };
}

/** Removes all stamps, or changes the metadata of events with stamps. */
function changeMetadata(change: (metadata: Readonly<Record<string, unknown>>) => Record<string, unknown>): Change {
  return (event) =>
    event.customMetadata?.[STAMPS] ? { ...event, customMetadata: change(event.customMetadata) } : event;
}

const strip = changeMetadata((metadata) =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== STAMPS)),
);

test('an unchanged call is run after its confirmation', async () => {
  const { asked, answered, paid } = await transfer();
  const events = await answered;
  expect(paid).toEqual([{ euros: 5, to: { name: 'Ann' } }]);
  expect(events.flatMap(getFunctionResponses).map(({ response }) => response)).toContainEqual({ paid: true });
  const stamps = asked.flatMap(({ customMetadata }) =>
    Object.values((customMetadata?.[STAMPS] as object | undefined) ?? {}),
  );
  expect(stamps.length).toBe(2);
  expect(stamps).toEqual(stamps.map(() => expect.stringMatching(/^v1:[\da-f]{64}$/)));
});

test.each<[string, Change, RegExp]>([
  [
    'other arguments',
    changeCall((call) => ({ ...call, args: { euros: 5000, to: { name: 'Ann' } } })),
    /does not match its integrity stamp/,
  ],
  [
    'one more argument',
    changeCall((call) => ({ ...call, args: { ...(call['args'] as object), to: { name: 'Eve' } } })),
    /does not match/,
  ],
  ['another name', changeCall((call) => ({ ...call, name: 'pay_all' })), /does not match its integrity stamp/],
  ['another id', changeCall((call) => ({ ...call, id: 'c2' })), /has no integrity stamp/],
  ['another author', (event) => (event.author === 'bot' ? { ...event, author: 'eve' } : event), /does not match/],
  [
    'no stamps',
    strip,
    /has no integrity stamp; for sessions that are older than the plugin, write allowUnstampedCalls: true/,
  ],
  [
    'a stamp of another form',
    changeMetadata((rest) => ({ ...rest, [STAMPS]: { c1: 'x' } })),
    /does not match its integrity stamp|has a stamp for a call/,
  ],
  [
    'stamps that are not strings',
    changeMetadata((rest) => ({ ...rest, [STAMPS]: { c1: 1 } })),
    /its integrity stamps are malformed/,
  ],
  [
    'a stamp for a missing call',
    changeMetadata((rest) => ({ ...rest, [STAMPS]: { ...(rest[STAMPS] as object), c9: 'v1:' } })),
    /has a stamp for a call "c9" that does not exist/,
  ],
])('a stored call with %s fails the run, and no tool runs', async (_, change, message) => {
  const { answered, paid } = await transfer(change);
  await expect(answered).rejects.toThrow(message);
  await expect(answered).rejects.toMatchObject({ code: 'TOOL_CALL_INTEGRITY' });
  expect(paid).toEqual([]);
});

test('a stamp does not verify with another key', async () => {
  const { answered, paid } = await transfer(undefined, { secretKey: 'another-secret-key' }, {});
  await expect(answered).rejects.toThrow('does not match its integrity stamp');
  expect(paid).toEqual([]);
});

test('stamps of an old key verify if it is listed after the new one', async () => {
  const { answered, paid } = await transfer(undefined, { secretKey: [new Uint8Array(32).fill(7), SECRET] }, {});
  await answered;
  expect(paid).toHaveLength(1);
});

test('with allowUnstampedCalls, calls without a stamp run, and calls with a wrong stamp do not', async () => {
  const unstamped = await transfer(strip, { allowUnstampedCalls: true });
  await unstamped.answered;
  expect(unstamped.paid).toHaveLength(1);
  const changed = await transfer(
    changeCall((call) => ({ ...call, args: { euros: 9 } })),
    { allowUnstampedCalls: true },
  );
  await expect(changed.answered).rejects.toThrow('does not match its integrity stamp');
});

test('calls of events that were copied from another session are not run', async () => {
  const { answered, paid } = await transfer((event) => ToolCallIntegrityPlugin.prepareRestoredEvent(event));
  await expect(answered).rejects.toThrow('was copied from another session and does not run');
  expect(paid).toEqual([]);
});

test('arguments that another plugin changed are not run', async () => {
  class Doubling extends BasePlugin {
    override beforeToolCallback({ toolArgs }: { toolArgs: Record<string, unknown> }): undefined {
      toolArgs['euros'] = 10;
    }
  }
  const paid: unknown[] = [];
  const pay = new FunctionTool({ name: 'pay', description: '', execute: (args) => void paid.push(args) });
  const { run } = await play({
    plugins: [new Doubling('doubling'), new ToolCallIntegrityPlugin({ secretKey: SECRET })],
    model: [{ calls: [{ id: 'c1', name: 'pay', args: { euros: 5 } }] }],
    agent: { tools: [pay] },
  });
  await expect(run()).rejects.toThrow('call "c1" of pay: its name or arguments differ from those of the stored call');
  expect(paid).toEqual([]);
});

test('a model that uses one id for two calls fails the run', async () => {
  const plugin = new ToolCallIntegrityPlugin({ secretKey: SECRET });
  const event = parseEvent({
    id: 'e',
    author: 'bot',
    invocationId: 'i',
    timestamp: 1,
    content: { parts: [{ functionCall: { id: 'c', name: 'f' } }, { functionCall: { id: 'c', name: 'g' } }] },
  });
  const { runner } = await play({ plugins: [plugin] });
  const session = (await runner.sessionService.getSession(KEY)) ?? expect.unreachable();
  await expect(plugin.onEventCallback({ invocationContext: { session } as never, event })).rejects.toThrow(
    ToolCallIntegrityError,
  );
});

test.each([undefined, '', 'short', [], [SECRET, 'short'], 5])(
  'the key %j is refused without being quoted',
  (secretKey) => {
    const make = () => new ToolCallIntegrityPlugin({ secretKey } as ToolCallIntegrityPluginOptions);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(
      /^ToolCallIntegrityPlugin: secretKey: expected a key of at least 16 bytes, or a list of such keys, got (a shorter one|the number 5); write secretKey: crypto/,
    );
  },
);
