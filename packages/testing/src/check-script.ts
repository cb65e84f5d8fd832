import { ConfigurationError, type LiveLlmResponse } from '@eventloom/core';
import { checkOptions, describeKind, isRecord, type OptionRules } from '@eventloom/core/internal';
import { Gate } from './gate.ts';
import type { LiveCue, LiveEnd, ScriptedLiveConnectionScript } from './scripted-live-model/scripted-live-step.ts';
import type { RequestExpectation } from './scripted-model/request-expectation.ts';
import type { ScriptedReply } from './scripted-model/scripted-step.ts';

const GATE = { is: 'object', wanted: 'a gate', write: 'new Gate()' } as const;
const ERROR = { is: 'object', wanted: 'an error', write: "new Error('overloaded')" } as const;

const REPLY: OptionRules<ScriptedReply> = {
  text: 'text',
  thought: 'text',
  calls: { is: 'list', write: "[{ name: 'get_weather', args: { city: 'Rome' } }]" },
  parts: { is: 'list', write: "[{ text: 'Hello!' }]" },
  chunks: { is: 'list', write: "['Hel', 'lo!']" },
  response: { is: 'object', write: "{ finishReason: 'MAX_TOKENS' }" },
  error: ERROR,
  expect: { is: 'object', write: "{ lastUserText: 'Hi' }" },
  gate: GATE,
};
const OF_RESPONSE = 'write it in response';
const REPLY_HINTS = {
  content: 'write its parts in parts',
  functionCalls: 'did you mean "calls"?',
  toolCalls: 'did you mean "calls"?',
  finishReason: OF_RESPONSE,
  errorCode: OF_RESPONSE,
  errorMessage: OF_RESPONSE,
  usageMetadata: OF_RESPONSE,
};

const EXPECTATION: OptionRules<RequestExpectation> = {
  lastUserText: { is: 'text or object', wanted: 'a string or a pattern', write: '/weather/' },
  systemInstruction: { is: 'text or object', wanted: 'a string or a pattern', write: '/weather/' },
  tools: { is: 'list', write: "['get_weather']" },
  matches: { is: 'function', write: '(request) => request.contents.length === 1' },
};

const RESPONSE: OptionRules<LiveLlmResponse> = {
  content: { is: 'object', write: "{ role: 'model', parts: [{ text: 'Hello!' }] }" },
  partial: 'flag',
  turnComplete: 'flag',
  interrupted: 'flag',
  finishReason: 'text',
  errorCode: 'text',
  errorMessage: 'text',
  usageMetadata: 'object',
  groundingMetadata: 'object',
  citationMetadata: 'object',
  urlContextMetadata: 'object',
  cacheMetadata: 'object',
  logprobsResult: 'object',
  avgLogprobs: 'number',
  modelVersion: 'text',
  customMetadata: 'object',
  inputTranscription: 'object',
  outputTranscription: 'object',
  liveSessionResumptionUpdate: 'object',
  responseId: 'text',
  alternatives: 'list',
  generationComplete: 'flag',
  toolCallCancellation: 'object',
  goAway: 'object',
  consumedSends: 'number',
};

const LIVE_STEP: OptionRules<LiveCue & LiveEnd & LiveLlmResponse> = {
  heard: { is: 'text or object or function', wanted: 'a kind of message, a pattern or a function', write: "'content'" },
  ends: { is: 'number or object or text', wanted: "a close code, an error or 'hangUp'", write: '1006' },
  ...RESPONSE,
};

const CONNECTION: OptionRules<ScriptedLiveConnectionScript> = {
  steps: { is: 'list', write: "['Hello!']" },
  refuse: ERROR,
  expect: REPLY.expect,
  gate: GATE,
  takesInterimResponses: 'flag',
  tellsConsumed: 'flag',
  needsCallIds: 'flag',
};

/**
 * Checks that a script is a list.
 * @param items name of the list's items: `steps`
 * @param write code of a valid call
 * @throws ConfigurationError
 */
export function checkScript(owner: string, script: unknown, items: string, write: string): void {
  if (!Array.isArray(script))
    throw new ConfigurationError(`${owner}: expected a list of ${items}, got ${describeKind(script)}; write ${write}`);
}

/** Checks a step of a scripted model, or the result of its function. @throws ConfigurationError */
export function checkStep(place: string, step: unknown): void {
  if (typeof step === 'string' || step instanceof Error) return;
  if (!isRecord(step))
    throw new ConfigurationError(
      `${place}: expected a text, a reply, an error or a function, got ${describeKind(step)}; write 'Hello!', or { text: 'Hello!' }`,
    );
  checkOptions(place, REPLY, step, REPLY_HINTS);
  checkExpectation(place, step['expect']);
  if (isRecord(step['response'])) checkOptions(`${place}: response`, RESPONSE, step['response']);
}

/** Checks the script of a scripted live connection. @throws ConfigurationError */
export function checkLiveScript(place: string, script: unknown): void {
  if (script instanceof Error) return;
  if (Array.isArray(script)) return checkLiveSteps(place, script);
  if (!isRecord(script))
    throw new ConfigurationError(
      `${place}: expected a list of steps, an error or an object with steps, got ${describeKind(script)}; write ['Hello!']`,
    );
  checkOptions(place, CONNECTION, script);
  checkExpectation(place, script['expect']);
  if (Array.isArray(script['steps'])) checkLiveSteps(`${place}.steps`, script['steps']);
}

function checkLiveSteps(place: string, steps: readonly unknown[]): void {
  for (const [index, step] of steps.entries()) {
    if (typeof step === 'string' || typeof step === 'function' || step instanceof Gate) continue;
    if (!isRecord(step))
      throw new ConfigurationError(
        `${place}[${index}]: expected a text, a response, a gate or a function, got ${describeKind(step)}; write 'Hello!'`,
      );
    checkOptions(`${place}[${index}]`, LIVE_STEP, step);
  }
}

function checkExpectation(place: string, expectation: unknown): void {
  if (isRecord(expectation)) checkOptions(`${place}: expect`, EXPECTATION, expectation);
}
