import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import {
  checkRunConfig,
  checkRunConfigDefaults,
  RUN_CONFIG_DEFAULTS,
  RUN_CONFIG_OPTIONS,
  type RunConfig,
  mergeRunConfigs,
} from './run-config.ts';

test.each<RunConfig>([
  {},
  RUN_CONFIG_DEFAULTS,
  { streamingMode: 'sse', maxLlmCalls: -1, onBusy: 'interrupt', busyWaitMs: 0, maxParallelToolCalls: 1 },
  { saveInputBlobsAsArtifacts: true, customMetadata: {}, completionEvent: false, requestId: '' },
  { getSessionConfig: { numRecentEvents: 0, afterTimestamp: 1.5, afterSeq: 0 } },
  { getSessionConfig: {}, maxLlmCalls: undefined, requestId: undefined },
  { clientTools: [] },
  {
    clientTools: [
      { name: 'f', description: '', parametersJsonSchema: {}, response: {} },
      { name: 'g', parameters: {} },
    ],
  },
  // Options of live runs, which other runs ignore.
  { responseModalities: [], speechConfig: {}, saveLiveBlob: true },
])('%j is accepted', (config) => {
  expect(() => checkRunConfig(config)).not.toThrow();
});

test('RUN_CONFIG_DEFAULTS contains the documented defaults', () => {
  expect(RUN_CONFIG_DEFAULTS).toEqual({
    streamingMode: 'none',
    maxLlmCalls: 500,
    onBusy: 'queue',
    onOpenRun: 'finish',
    busyWaitMs: 60_000,
    maxParallelToolCalls: 16,
  });
});

test.each([
  [
    { streamingMode: 'fast' },
    'runConfig: streamingMode: expected one of none, sse, bidi, got "fast"; write streamingMode: \'sse\'',
  ],
  [{ streamingMode: 'SSE' }, 'expected one of none, sse, bidi, got "SSE"; write streamingMode: \'sse\''],
  [{ maxLlmCalls: 1.5 }, 'runConfig: maxLlmCalls: expected an integer, got the number 1.5; write maxLlmCalls: 50'],
  [{ maxLlmCalls: 5n }, 'runConfig: maxLlmCalls: expected an integer, got a bigint'],
  [{ onBusy: null }, 'runConfig: onBusy: expected one of queue, reject, interrupt, got null'],
  [{ busyWaitMs: -1 }, 'runConfig: busyWaitMs: expected an integer from 0 to 86400000, got the number -1'],
  [
    { busyWaitMs: 2 * 86_400_000 },
    'runConfig: busyWaitMs: expected an integer from 0 to 86400000, got the number 172800000',
  ],
  [{ maxParallelToolCalls: 0 }, 'runConfig: maxParallelToolCalls: expected an integer of at least 1, got the number 0'],
  [{ saveInputBlobsAsArtifacts: 'yes' }, 'runConfig: saveInputBlobsAsArtifacts: expected true or false, got a string'],
  [{ customMetadata: [] }, 'runConfig: customMetadata: expected an object, got a list'],
  [{ customMetadata: null }, 'runConfig: customMetadata: expected an object, got null'],
  [{ getSessionConfig: 3 }, 'runConfig: getSessionConfig: expected an object, got the number 3'],
  [
    { getSessionConfig: { numRecentEvents: -1 } },
    'runConfig.getSessionConfig: numRecentEvents: expected an integer of at least 0, got the number -1',
  ],
  [
    { getSessionConfig: { afterTimestamp: Number.NaN } },
    'runConfig.getSessionConfig: afterTimestamp: expected a number, got the number NaN',
  ],
  [
    { getSessionConfig: { recent: 1 } },
    'runConfig.getSessionConfig: has no option "recent"; did you mean "numRecentEvents"?',
  ],
  [{ completionEvent: 1 }, 'runConfig: completionEvent: expected true or false, got the number 1'],
  [{ requestId: 1 }, 'runConfig: requestId: expected a string, got the number 1'],
  [{ clientTools: {} }, 'runConfig: clientTools: expected a list, got an object; write clientTools: [{ name'],
  [{ clientTools: ['f'] }, 'runConfig.clientTools[0]: expected a function declaration, got a string'],
  [{ clientTools: [{ name: 'f' }, { name: 'a b' }] }, 'runConfig.clientTools[1].name: expected 1 to 128 letters'],
  [{ clientTools: [{ name: 'f' }, { name: 'f' }] }, 'runConfig.clientTools: declares "f" twice'],
  [{ clientTools: [{ name: 'f', run: 1 }] }, 'runConfig.clientTools[0].run: no such field; a declaration has name'],
  [{ clientTools: [{ name: 'f', description: 1 }] }, 'runConfig.clientTools[0].description: expected a string'],
  [{ clientTools: [{ name: 'f', parameters: [] }] }, 'runConfig.clientTools[0].parameters: expected an object'],
  [
    { clientTools: [{ name: 'f', parameters: {}, parametersJsonSchema: {} }] },
    'has parameters and parametersJsonSchema',
  ],
  [{ clientTools: [{ name: 'f', parameters: { a: () => 1 } }] }, 'runConfig.clientTools.0.parameters.a: '],
  [
    { clientTools: Array.from({ length: 129 }, (_, index) => ({ name: `f${index}` })) },
    'runConfig.clientTools: has 129 declarations; at most 128 are allowed',
  ],
  [
    { clientTools: [{ name: 'f', description: 'x'.repeat(262_144) }] },
    'runConfig.clientTools: has 262175 characters of JSON; at most 262144 are allowed',
  ],
])('%o is refused', (config, message) => {
  const check = (): void => checkRunConfig(config as unknown as RunConfig);
  expect(check).toThrow(ConfigurationError);
  expect(check).toThrow(message);
});

test.each(['volume', 'toString', '__proto__'])(
  'checkRunConfig throws ConfigurationError for the unknown option %s',
  (option) => {
    const config = Object.fromEntries([[option, {}]]) as RunConfig;
    expect(() => checkRunConfig(config)).toThrow(`runConfig: has no option "${option}"; it has streaming`);
  },
);

test.each(['transfer_to_agent', 'set_model_response', 'task_completed', 'adk_request_confirmation'])(
  'checkRunConfig refuses a client tool with the reserved name %s',
  (name) => {
    expect(() => checkRunConfig({ clientTools: [{ name }] })).toThrow(
      `runConfig.clientTools[0].name: "${name}" is reserved for a function of the runtime; choose another name`,
    );
  },
);

/** A wrong value of every option. The type requires an entry for each new option. */
const WRONG: { readonly [K in keyof Required<RunConfig>]: unknown } = {
  streamingMode: 'fast',
  maxLlmCalls: '2',
  maxRunMs: 0,
  onBusy: 'wait',
  onOpenRun: 'leave',
  busyWaitMs: -1,
  maxParallelToolCalls: 0,
  saveInputBlobsAsArtifacts: 'yes',
  customMetadata: 'x',
  getSessionConfig: { last: 5 },
  completionEvent: 1,
  announceTransfers: 1,
  requestId: 'r1',
  resumable: 'yes',
  clientTools: {},
  pauseOnToolCalls: 'yes',
  responseModalities: ['AUDIO', 'TEXT'],
  speechConfig: 'Puck',
  inputAudioTranscription: true,
  outputAudioTranscription: true,
  realtimeInputConfig: [],
  sessionResumption: 'handle',
  contextWindowCompression: true,
  proactivity: 1,
  enableAffectiveDialog: 'true',
  saveLiveBlob: null,
  saveLiveModelAudioToSession: null,
  liveReconnect: 0,
};

test('RUN_CONFIG_OPTIONS contains the name of every option', () => {
  expect([...RUN_CONFIG_OPTIONS].toSorted()).toEqual(Object.keys(WRONG).toSorted());
});

test.each(Object.entries(WRONG))(
  'checkRunConfigDefaults throws for a wrong %s, including options of live runs',
  (option, value) => {
    expect(() => checkRunConfigDefaults({ [option]: value })).toThrow(ConfigurationError);
    expect(() => checkRunConfigDefaults({ [option]: value })).toThrow(option);
  },
);

test.each([
  [{ handle: 5 }, 'runConfig.sessionResumption: handle: expected a string, got the number 5'],
  [{ handel: 'h' }, 'runConfig.sessionResumption: has no option "handel"; did you mean "handle"?'],
])('checkRunConfigDefaults refuses sessionResumption: %j', (sessionResumption, message) => {
  expect(() => checkRunConfigDefaults({ sessionResumption })).toThrow(message);
});

test.each([null, undefined, 5, 'x', [], new Map([['maxLlmCalls', 2]]), Promise.resolve({})])(
  'checkRunConfigDefaults refuses %j, which is not a plain object',
  (value) => {
    expect(() => checkRunConfigDefaults(value as never)).toThrow(new RegExp('^runConfig: expected a plain object'));
  },
);

test('mergeRunConfigs prefers the first config and merges customMetadata by key', () => {
  const under = { maxLlmCalls: 5, onBusy: 'reject', customMetadata: { a: 1, b: 1 } } as const;
  const over = { maxLlmCalls: 0, onBusy: undefined, customMetadata: { b: 2 } } as const;
  expect(mergeRunConfigs(over, under)).toEqual({ maxLlmCalls: 0, onBusy: 'reject', customMetadata: { a: 1, b: 2 } });
  expect(under).toEqual({ maxLlmCalls: 5, onBusy: 'reject', customMetadata: { a: 1, b: 1 } });
  expect(mergeRunConfigs(over, {})).toBe(over);
});

test.each([
  [{}, { maxLlmCalls: 20, maxParallelToolCalls: 4 }, { maxLlmCalls: 20, maxParallelToolCalls: 4 }],
  [{}, { maxLlmCalls: 501, maxParallelToolCalls: 17 }, {}],
  [
    { maxLlmCalls: 5, maxParallelToolCalls: 2 },
    { maxLlmCalls: 20, maxParallelToolCalls: 4 },
    { maxLlmCalls: 5, maxParallelToolCalls: 2 },
  ],
  [{ maxLlmCalls: 0 }, { maxLlmCalls: 20 }, { maxLlmCalls: 20 }],
  [{ maxLlmCalls: -1 }, { maxLlmCalls: 1000 }, { maxLlmCalls: 1000 }],
  [{ maxLlmCalls: 1e6 }, { maxParallelToolCalls: 1 }, { maxLlmCalls: 1e6, maxParallelToolCalls: 1 }],
])('%j within %j is %j', (config, bounds, bounded) => {
  expect(mergeRunConfigs(config, {}, bounds)).toEqual(bounded);
});

test.each([{ maxLlmCalls: 0 }, { maxParallelToolCalls: 1.5 }, { maxLlmCalls: '5' }, { busyWaitMs: 5 }])(
  '%j are not valid bounds',
  (bounds) => {
    expect(() => mergeRunConfigs({}, {}, bounds as never)).toThrow(ConfigurationError);
  },
);
