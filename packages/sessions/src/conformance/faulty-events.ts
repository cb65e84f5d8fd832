import type { Event } from '@eventloom/core';
import { sampleEvent } from './samples.ts';

/** Values of every kind except the one in the name. */
const NOT_TEXT = [5, true, [], {}];
const NOT_FLAG = ['true', 1, [], {}];
const NOT_NUMBER = ['1', true, Number.NaN, Infinity, [], {}];
const NOT_INTEGER = [...NOT_NUMBER, 1.5, 1e300];
const NOT_TIME = [...NOT_NUMBER, '2026-01-02T03:04:05Z', 1e300, -1e300, 1_767_323_045_250];
const NOT_OBJECT = ['text', 5, true, []];
const NOT_LIST = ['text', 5, true, {}];
/** Values for members of lists and maps, which cannot be null. In an optional field null counts as absent. */
const NOT_EVEN_NULL = [null];
const MISSING = [undefined, null];

/** Invalid values for each field of `wholeEvent`. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  id: [...NOT_TEXT, ...MISSING],
  invocationId: [...NOT_TEXT, ...MISSING],
  author: [...NOT_TEXT, ...MISSING],
  timestamp: [...NOT_TIME, ...MISSING],
  branch: NOT_TEXT,
  turnComplete: NOT_FLAG,
  interrupted: NOT_FLAG,
  finishReason: NOT_TEXT,
  errorCode: NOT_TEXT,
  errorMessage: NOT_TEXT,
  modelVersion: NOT_TEXT,
  avgLogprobs: NOT_NUMBER,
  usageMetadata: NOT_OBJECT,
  groundingMetadata: NOT_OBJECT,
  citationMetadata: NOT_OBJECT,
  cacheMetadata: NOT_OBJECT,
  logprobsResult: NOT_OBJECT,
  customMetadata: NOT_OBJECT,
  requestId: NOT_TEXT,
  executionId: NOT_TEXT,
  parentExecutionId: NOT_TEXT,
  responseId: NOT_TEXT,
  object: NOT_TEXT,
  tags: NOT_LIST,
  'tags.0': [...NOT_TEXT, ...NOT_EVEN_NULL],
  longRunningToolIds: NOT_LIST,
  'longRunningToolIds.0': [...NOT_TEXT, ...NOT_EVEN_NULL],
  inputTranscription: NOT_OBJECT,
  'inputTranscription.text': NOT_TEXT,
  'outputTranscription.finished': NOT_FLAG,
  liveSessionResumptionUpdate: NOT_OBJECT,
  'liveSessionResumptionUpdate.newHandle': NOT_TEXT,
  nodeEvent: NOT_OBJECT,
  'nodeEvent.nodeId': [...NOT_TEXT, ...MISSING],
  'nodeEvent.stepNumber': NOT_INTEGER,
  error: NOT_OBJECT,
  'error.type': [...NOT_TEXT, ...MISSING],
  'error.message': [...NOT_TEXT, ...MISSING],
  alternatives: NOT_LIST,
  'alternatives.0': [...NOT_OBJECT, ...NOT_EVEN_NULL],
  'alternatives.0.index': [...NOT_INTEGER, ...MISSING],
  'alternatives.0.content.parts.0': [...NOT_OBJECT, ...NOT_EVEN_NULL],
  content: NOT_OBJECT,
  'content.role': NOT_TEXT,
  'content.parts': NOT_LIST,
  'content.parts.0': [...NOT_OBJECT, ...NOT_EVEN_NULL],
  'content.parts.0.text': NOT_TEXT,
  'content.parts.0.thought': NOT_FLAG,
  'content.parts.0.thoughtSignature': NOT_TEXT,
  'content.parts.0.partMetadata': NOT_OBJECT,
  'content.parts.1.functionCall': NOT_OBJECT,
  'content.parts.1.functionCall.id': NOT_TEXT,
  'content.parts.1.functionCall.name': NOT_TEXT,
  'content.parts.1.functionCall.args': NOT_OBJECT,
  'content.parts.2.functionResponse': NOT_OBJECT,
  'content.parts.2.functionResponse.id': NOT_TEXT,
  'content.parts.2.functionResponse.name': NOT_TEXT,
  'content.parts.2.functionResponse.response': NOT_OBJECT,
  'content.parts.3.inlineData': NOT_OBJECT,
  'content.parts.3.inlineData.data': NOT_TEXT,
  'content.parts.3.inlineData.mimeType': NOT_TEXT,
  'content.parts.4.fileData': NOT_OBJECT,
  'content.parts.4.fileData.fileUri': NOT_TEXT,
  'content.parts.5.executableCode': NOT_OBJECT,
  'content.parts.5.executableCode.code': NOT_TEXT,
  'content.parts.6.codeExecutionResult': NOT_OBJECT,
  'content.parts.6.codeExecutionResult.output': NOT_TEXT,
  actions: [...NOT_OBJECT, ...MISSING],
  'actions.stateDelta': [...NOT_OBJECT, ...MISSING],
  'actions.removedState': NOT_LIST,
  'actions.removedState.0': [...NOT_TEXT, ...NOT_EVEN_NULL],
  'actions.artifactDelta': [...NOT_OBJECT, ...MISSING],
  'actions.artifactDelta.file': [...NOT_INTEGER, ...NOT_EVEN_NULL],
  'actions.transferToAgent': NOT_TEXT,
  'actions.escalate': NOT_FLAG,
  'actions.skipSummarization': NOT_FLAG,
  'actions.endOfAgent': NOT_FLAG,
  'actions.agentState': NOT_OBJECT,
  'actions.requestedAuthConfigs': NOT_OBJECT,
  'actions.requestedAuthConfigs.call': [...NOT_OBJECT, ...NOT_EVEN_NULL],
  'actions.requestedToolConfirmations': NOT_OBJECT,
  'actions.requestedToolConfirmations.call': [...NOT_OBJECT, ...NOT_EVEN_NULL],
  'actions.requestedToolConfirmations.call.confirmed': NOT_FLAG,
  'actions.compaction': NOT_OBJECT,
  'actions.compaction.startTimestamp': [...NOT_TIME, ...MISSING],
  'actions.compaction.endTimestamp': [...NOT_TIME, ...MISSING],
  'actions.compaction.compactedContent': [...NOT_OBJECT, ...MISSING],
  'actions.compaction.compactedContent.parts.0': [...NOT_OBJECT, ...NOT_EVEN_NULL],
  'actions.rewindBeforeInvocationId': NOT_TEXT,
};

/** Returns an event that has every field. */
export function wholeEvent(id: string): Event {
  return sampleEvent(id, {
    branch: 'parent.child',
    partial: false,
    turnComplete: true,
    interrupted: false,
    finishReason: 'STOP',
    errorCode: 'CODE',
    errorMessage: 'message',
    modelVersion: 'model',
    avgLogprobs: -0.5,
    usageMetadata: { promptTokenCount: 1, prompt_tokens: { cached: null }, timingInfo: { timeToFirstTokenMs: 1.5 } },
    groundingMetadata: { chunks: [null] },
    citationMetadata: {},
    cacheMetadata: { a: 1 },
    logprobsResult: { chosen_candidates: null },
    customMetadata: { mine: null },
    requestId: 'request',
    executionId: 'e-1',
    parentExecutionId: '',
    responseId: 'response',
    object: 'of_its_own',
    tags: ['one', ''],
    longRunningToolIds: ['call'],
    inputTranscription: { text: 'in', finished: false },
    outputTranscription: { text: 'out', finished: true },
    liveSessionResumptionUpdate: { newHandle: 'handle', resumable: true },
    nodeEvent: { eventType: 'type', category: 'progress', nodeId: 'node', payload: null, progress: 5, stepNumber: 1 },
    error: { type: 'CODE', message: 'message' },
    alternatives: [{ index: 1, content: { parts: [{ text: 'other' }] }, finishReason: 'STOP' }],
    content: {
      role: 'model',
      parts: [
        { text: 'text', thought: true, thoughtSignature: 'AA-_', partMetadata: { a: null } },
        { functionCall: { id: 'call', name: 'tool', args: { snake_case: null } } },
        { functionResponse: { id: 'call', name: 'tool', response: { a: [] } } },
        { inlineData: { data: 'AAAA', mimeType: 'a/b', displayName: '' } },
        { fileData: { fileUri: 'uri', mimeType: 'a/b' } },
        { executableCode: { code: '1', language: 'PYTHON' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
        {},
      ],
    },
    actions: {
      stateDelta: { own: null },
      removedState: ['gone'],
      artifactDelta: { file: 3, 'user:file': 0 },
      transferToAgent: 'agent',
      escalate: true,
      skipSummarization: false,
      endOfAgent: true,
      agentState: { step: null },
      requestedAuthConfigs: { call: { scheme: 'none' } },
      requestedToolConfirmations: { call: { hint: 'sure?', confirmed: false, payload: null } },
      compaction: {
        startTimestamp: -1,
        endTimestamp: 253_402_300_799.999,
        compactedContent: { role: 'model', parts: [{ text: 'summary' }] },
      },
      rewindBeforeInvocationId: 'e-0',
    },
  });
}

/** Yields events with one invalid field each, and the name of the fault. Values that JSON lacks, such as NaN, are included. */
export function* faultyEvents(id: string): Generator<readonly [what: string, event: Event]> {
  for (const [path, values] of Object.entries(WRONG)) {
    for (const value of values) {
      const event = structuredClone(wholeEvent(id));
      setAt(event, path.split('.'), value);
      yield [`${path} that is ${typeof value === 'number' ? value : JSON.stringify(value)}`, event];
    }
  }
}

function setAt(target: object, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) Reflect.set(target, key, value);
  else setAt(Reflect.get(target, key) as object, rest, value);
}
