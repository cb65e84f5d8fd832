import * as z from 'zod';
import type { Event } from '../event/event.ts';
import {
  createEventActions,
  type EventActions,
  type InputRequest,
  type ToolConfirmation,
} from '../event/event-actions.ts';
import { ACTIONS } from '../event/event-shape.ts';
import { readEvent } from '../event/parse-event.ts';
import { documentOf } from '../event/read-json.ts';
import { contentShape } from './content-schema.ts';
import { jsonMapSchema, jsonObjectSchema } from './json-object-schema.ts';
import { readWith } from './read-with.ts';

const text = z.string().exactOptional();
const texts = z.array(z.string()).exactOptional();
const flag = z.boolean().exactOptional();
const integer = z.int().exactOptional();
const object = jsonObjectSchema.exactOptional();
const seconds = z.number().describe('Seconds since the epoch.');

const toolConfirmation = {
  type: 'object',
  properties: { hint: { type: 'string' }, confirmed: { type: 'boolean' }, payload: {} },
};
const inputRequests = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      key: { type: 'string' },
      message: { type: 'string' },
      payload: {},
      responseSchema: { type: 'object' },
    },
    required: ['key'],
  },
};

/** Side effects and control signals, after reading. */
export const eventActionsShape = z.looseObject({
  stateDelta: jsonObjectSchema,
  removedState: texts,
  artifactDelta: jsonMapSchema<number>({ type: 'integer' }),
  transferToAgent: text,
  escalate: flag,
  skipSummarization: flag,
  endOfAgent: flag,
  agentState: object,
  requestedAuthConfigs: object,
  requestedToolConfirmations: jsonMapSchema<ToolConfirmation>(toolConfirmation).exactOptional(),
  requestedInputs: jsonMapSchema<InputRequest[]>(inputRequests).exactOptional(),
  compaction: z
    .looseObject({ startTimestamp: seconds, endTimestamp: seconds, compactedContent: contentShape })
    .exactOptional(),
  rewindBeforeInvocationId: text,
  history: z
    .looseObject({ seq: z.int(), rewoundFrom: integer, keptFrom: integer, summaries: texts, summariesFrom: integer })
    .exactOptional(),
});

const transcription = z.looseObject({ text, finished: flag }).exactOptional();
const usageMetadata = z.looseObject({
  promptTokenCount: integer,
  candidatesTokenCount: integer,
  totalTokenCount: integer,
  cachedContentTokenCount: integer,
  thoughtsTokenCount: integer,
  toolUsePromptTokenCount: integer,
  timingInfo: z
    .looseObject({ timeToFirstTokenMs: z.number().exactOptional(), reasoningDurationMs: z.number().exactOptional() })
    .exactOptional(),
});
const nodeEvent = z.looseObject({
  eventType: z.string(),
  category: z.enum(['custom', 'progress', 'text']),
  nodeId: z.string(),
  payload: z.unknown().exactOptional(),
  progress: z.number().min(0).max(100).exactOptional(),
  message: text,
  stepNumber: integer,
});

/** The one thing that flows, after reading. */
export const eventShape = z.looseObject({
  id: z.string(),
  invocationId: z.string(),
  author: z.string().describe("`user`, or the agent's name."),
  timestamp: seconds,
  actions: eventActionsShape,
  branch: text,
  content: contentShape.exactOptional(),
  partial: z.boolean().describe('A chunk: only what is new since the last one.').exactOptional(),
  turnComplete: flag,
  interrupted: flag,
  finishReason: text,
  errorCode: text,
  errorMessage: text,
  usageMetadata: usageMetadata.exactOptional(),
  groundingMetadata: object,
  citationMetadata: object,
  cacheMetadata: object,
  logprobsResult: object,
  avgLogprobs: z.number().exactOptional(),
  modelVersion: text,
  customMetadata: object,
  inputTranscription: transcription,
  outputTranscription: transcription,
  liveSessionResumptionUpdate: z.looseObject({ newHandle: text, resumable: flag }).exactOptional(),
  longRunningToolIds: texts,
  requestId: text,
  executionId: text,
  parentExecutionId: text,
  responseId: text,
  object: text,
  tags: texts,
  nodeEvent: nodeEvent.exactOptional(),
  error: z.looseObject({ type: z.string(), message: z.string(), code: text, param: text }).exactOptional(),
  alternatives: z
    .array(z.looseObject({ index: z.int(), content: contentShape.exactOptional(), finishReason: text }))
    .exactOptional(),
});

/** Side effects and control signals. */
export const eventActionsSchema: z.ZodType<EventActions> = readWith(
  (value, path) => createEventActions(documentOf(ACTIONS)(value, path)),
  eventActionsShape,
);
/** An event, read as `parseEvent` reads it. */
export const eventSchema: z.ZodType<Event> = readWith(readEvent, eventShape);

export type EventActionsJson = z.infer<typeof eventActionsSchema>;
export type EventJson = z.infer<typeof eventSchema>;
