import { expect, test } from 'vitest';
import { parseLiveQuery } from './live-query.ts';

const OWNER = { app_name: 'app', user_id: 'ann', session_id: 's' };

test.each([
  [
    'maxLLMCalls',
    'maxLLMCalls: the query has no such parameter; did you mean "maxLlmCalls"? That is set on the server',
  ],
  ['max_llm_call', 'max_llm_call: the query has no such parameter; did you mean "maxLlmCalls"?'],
  ['save_live_blobs', 'save_live_blobs: the query has no such parameter; did you mean "saveLiveBlob"?'],
  ['speech_config', 'speech_config: is set on the server'],
  ['request_id', 'request_id: is a field of a message to /run, /run_sse and /runs; remove it'],
  [
    'streaming_mode',
    'streaming_mode: is not a field of a request; write streaming at /run_sse, and nothing at /run_live',
  ],
])('a call with the parameter %s is refused', (name, message) => {
  expect(() => parseLiveQuery(new URLSearchParams({ ...OWNER, [name]: '2' }))).toThrow(message);
});

test.each([
  [{ proactive_audio: 'true', enableAffectiveDialog: 'true' }, true],
  [{ proactivity: 'true', affective_dialog: 'true' }, true],
  [
    { proactivity: 'true', proactive_audio: 'false', affective_dialog: 'true', enable_affective_dialog: 'false' },
    false,
  ],
])('the parameters %j set proactive audio and affective dialog to %j', (given, value) => {
  const { runConfig } = parseLiveQuery(new URLSearchParams({ ...OWNER, ...(given as Record<string, string>) }));
  expect(runConfig).toMatchObject({ proactivity: { proactiveAudio: value }, enableAffectiveDialog: value });
});

test('unknown parameters that resemble no known one are ignored, because newer clients may send them', () => {
  const query = new URLSearchParams({ ...OWNER, access_token: 't', appName: 'app', color: 'blue' });
  query.delete('app_name');
  expect(parseLiveQuery(query).key).toEqual({ appName: 'app', userId: 'ann', sessionId: 's' });
});
