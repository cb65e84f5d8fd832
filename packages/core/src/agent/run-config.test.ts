import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { checkRunConfig, RUN_CONFIG_DEFAULTS, type RunConfig } from './run-config.ts';

test.each<RunConfig>([
  {},
  RUN_CONFIG_DEFAULTS,
  { streamingMode: 'sse', maxLlmCalls: -1, onBusy: 'interrupt', busyWaitMs: 0, maxParallelToolCalls: 1 },
  { saveInputBlobsAsArtifacts: true, customMetadata: {}, completionEvent: false, requestId: '' },
  { getSessionConfig: { numRecentEvents: 0, afterTimestamp: 1.5, afterSeq: 0 } },
  { getSessionConfig: {}, maxLlmCalls: undefined, requestId: undefined },
  // Of live runs: others take no notice.
  { responseModalities: [], speechConfig: {}, saveLiveBlob: true },
])('%j makes sense', (config) => {
  expect(() => checkRunConfig(config)).not.toThrow();
});

test('a run that is told nothing goes like this', () => {
  expect(RUN_CONFIG_DEFAULTS).toEqual({
    streamingMode: 'none',
    maxLlmCalls: 500,
    onBusy: 'queue',
    busyWaitMs: 60_000,
    maxParallelToolCalls: 16,
  });
});

test.each([
  [{ streamingMode: 'fast' }, 'runConfig.streamingMode: must be one of none, sse, bidi, is "fast"'],
  [{ maxLlmCalls: 1.5 }, 'runConfig.maxLlmCalls: must be an integer, is the number 1.5'],
  [{ maxLlmCalls: 5n }, 'runConfig.maxLlmCalls: must be an integer, is a bigint'],
  [{ onBusy: null }, 'runConfig.onBusy: must be one of queue, reject, interrupt, is null'],
  [{ busyWaitMs: -1 }, 'runConfig.busyWaitMs: must be an integer of at least 0 and at most 86400000, is the number -1'],
  [
    { busyWaitMs: 2 * 86_400_000 },
    'runConfig.busyWaitMs: must be an integer of at least 0 and at most 86400000, is the number 172800000',
  ],
  [{ maxParallelToolCalls: 0 }, 'runConfig.maxParallelToolCalls: must be an integer of at least 1, is the number 0'],
  [{ saveInputBlobsAsArtifacts: 'yes' }, 'runConfig.saveInputBlobsAsArtifacts: must be a boolean, is "yes"'],
  [{ customMetadata: [] }, 'runConfig.customMetadata: must be an object, is a list'],
  [{ customMetadata: null }, 'runConfig.customMetadata: must be an object, is null'],
  [{ getSessionConfig: 3 }, 'runConfig.getSessionConfig: must be an object, is the number 3'],
  [
    { getSessionConfig: { numRecentEvents: -1 } },
    'runConfig.getSessionConfig.numRecentEvents: must be an integer of at least 0, is the number -1',
  ],
  [
    { getSessionConfig: { afterTimestamp: Number.NaN } },
    'runConfig.getSessionConfig.afterTimestamp: must be a number, is the number NaN',
  ],
  [
    { getSessionConfig: { recent: 1 } },
    'runConfig.getSessionConfig.recent: this version has no such option; it has numRecentEvents, afterTimestamp, afterSeq',
  ],
  [{ completionEvent: 1 }, 'runConfig.completionEvent: must be a boolean, is the number 1'],
  [{ requestId: 1 }, 'runConfig.requestId: must be a string, is the number 1'],
])('%o is refused', (config, message) => {
  const check = (): void => checkRunConfig(config as unknown as RunConfig);
  expect(check).toThrow(ConfigurationError);
  expect(check).toThrow(message);
});

test.each(['volume', 'toString', '__proto__'])(
  'the option %s, which this version does not have, is refused',
  (option) => {
    const config = Object.fromEntries([[option, {}]]) as RunConfig;
    expect(() => checkRunConfig(config)).toThrow(
      `runConfig.${option}: this version has no such option; it has streaming`,
    );
  },
);
