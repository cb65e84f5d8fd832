import type {
  Blob,
  CodeExecutionResult,
  Content,
  ExecutableCode,
  FileData,
  FunctionCall,
  FunctionResponse,
  FunctionResponsePart,
  Part,
  PartialArg,
} from '../content/content.ts';
import type {
  AlternativeResponse,
  ErrorInfo,
  LlmResponse,
  TimingInfo,
  Transcription,
  UsageMetadata,
} from '../model/llm-response.ts';
import type { Event, NodeEvent, NodeInfo } from './event.ts';
import type { EventActions, EventCompaction, HistoryPointer, InputRequest, ToolConfirmation } from './event-actions.ts';
import {
  alsoReading,
  ANY,
  BASE64,
  DATA,
  described,
  type Field,
  FLAG,
  INTEGER,
  limited,
  listOf,
  mapOf,
  NUMBER,
  oneOf,
  required,
  SECONDS,
  shape,
  TEXT,
  vendor,
  VENDOR,
} from './field.ts';

/*
 * The shape of an event. `parseEvent` reads by it, `sealEvent` checks and copies by it, request bodies are checked by it, and
 * the JSON Schemas of the OpenAPI document are generated from it. The compiler checks it against the types.
 */

/** A value for which the API has an enum or an object of settings. */
const SETTING = limited(ANY, { types: ['string', 'object'] });

const BLOB = shape<Blob>({ data: BASE64, mimeType: TEXT, displayName: TEXT });
const FILE_DATA = shape<FileData>({ fileUri: TEXT, mimeType: TEXT, displayName: TEXT });

export const PART: Field<Part, false> = shape<Part>(
  {
    text: TEXT,
    thought: described(FLAG, 'The text is reasoning, not the answer.'),
    thoughtSignature: TEXT,
    functionCall: shape<FunctionCall>({
      id: TEXT,
      name: TEXT,
      args: DATA,
      partialArgs: listOf(
        vendor<PartialArg>({
          jsonPath: TEXT,
          stringValue: TEXT,
          numberValue: NUMBER,
          boolValue: FLAG,
          nullValue: oneOf('NULL_VALUE'),
          willContinue: FLAG,
        }),
      ),
      willContinue: FLAG,
    }),
    functionResponse: shape<FunctionResponse>({
      id: TEXT,
      name: TEXT,
      response: DATA,
      parts: listOf(shape<FunctionResponsePart>({ inlineData: BLOB, fileData: FILE_DATA, mediaProcessing: SETTING })),
      scheduling: TEXT,
      willContinue: FLAG,
    }),
    inlineData: BLOB,
    fileData: FILE_DATA,
    executableCode: shape<ExecutableCode>({ code: TEXT, language: TEXT, id: TEXT }),
    codeExecutionResult: shape<CodeExecutionResult>({ outcome: TEXT, output: TEXT, id: TEXT }),
    videoMetadata: vendor<NonNullable<Part['videoMetadata']>>({ startOffset: TEXT, endOffset: TEXT, fps: NUMBER }),
    partMetadata: DATA,
    toolCall: shape<{ id?: string; toolType?: string; args?: Record<string, unknown> }>({
      id: TEXT,
      toolType: TEXT,
      args: DATA,
    }),
    toolResponse: shape<{ id?: string; toolType?: string; response?: Record<string, unknown> }>({
      id: TEXT,
      toolType: TEXT,
      response: DATA,
    }),
    audioTranscription: VENDOR,
    mediaResolution: SETTING,
    mediaProcessing: SETTING,
    speechMetadata: VENDOR,
  },
  { name: 'Part' },
);

export const CONTENT: Field<Content, false> = shape<Content>(
  { role: described(TEXT, '`user` or `model`.'), parts: listOf(PART) },
  { name: 'Content' },
);

export const ACTIONS: Field<EventActions, false> = shape<EventActions>(
  {
    stateDelta: required(DATA, () => ({})),
    removedState: listOf(TEXT),
    artifactDelta: required(mapOf(INTEGER), () => ({})),
    transferToAgent: TEXT,
    escalate: FLAG,
    skipSummarization: FLAG,
    endOfAgent: FLAG,
    agentState: DATA,
    requestedAuthConfigs: mapOf(VENDOR),
    requestedToolConfirmations: mapOf(shape<ToolConfirmation>({ hint: TEXT, confirmed: FLAG, payload: ANY })),
    requestedInputs: mapOf(
      listOf(shape<InputRequest>({ key: required(TEXT), message: TEXT, payload: ANY, responseSchema: DATA })),
    ),
    compaction: shape<EventCompaction>({
      startTimestamp: required(SECONDS),
      endTimestamp: required(SECONDS),
      compactedContent: required(CONTENT),
    }),
    rewindBeforeInvocationId: TEXT,
    history: shape<HistoryPointer>({
      seq: required(INTEGER),
      rewoundFrom: INTEGER,
      keptFrom: INTEGER,
      summaries: listOf(TEXT),
      summariesFrom: INTEGER,
    }),
  },
  { name: 'EventActions' },
);

const TRANSCRIPTION = alsoReading(shape<Transcription>({ text: TEXT, finished: FLAG }), {
  languageCode: TEXT,
  speakerLabel: TEXT,
  words: listOf(VENDOR),
  startOffset: TEXT,
  endOffset: TEXT,
});

const USAGE = vendor<UsageMetadata>({
  promptTokenCount: INTEGER,
  candidatesTokenCount: INTEGER,
  totalTokenCount: INTEGER,
  cachedContentTokenCount: INTEGER,
  thoughtsTokenCount: INTEGER,
  toolUsePromptTokenCount: INTEGER,
  timingInfo: vendor<TimingInfo>({ timeToFirstTokenMs: NUMBER, reasoningDurationMs: NUMBER }),
});

const RESUMPTION = alsoReading(
  shape<NonNullable<LlmResponse['liveSessionResumptionUpdate']>>({ newHandle: TEXT, resumable: FLAG }),
  { lastConsumedClientMessageIndex: ANY },
);

/** A stored event: has all fields that `parseEvent` and the runner fill in. */
export const EVENT: Field<Event, false> = alsoReading(
  shape<Event>(
    {
      id: required(TEXT, () => ''),
      invocationId: required(TEXT, () => ''),
      author: required(described(TEXT, "`user`, or the agent's name."), () => ''),
      timestamp: required(SECONDS, () => 0),
      actions: required(ACTIONS, () => ({ stateDelta: {}, artifactDelta: {} })),
      branch: TEXT,
      content: CONTENT,
      partial: described(FLAG, 'True for a chunk, which has only the content since the last one.'),
      turnComplete: FLAG,
      interrupted: FLAG,
      finishReason: TEXT,
      errorCode: TEXT,
      errorMessage: TEXT,
      usageMetadata: USAGE,
      groundingMetadata: VENDOR,
      citationMetadata: VENDOR,
      urlContextMetadata: VENDOR,
      cacheMetadata: VENDOR,
      logprobsResult: VENDOR,
      avgLogprobs: NUMBER,
      modelVersion: TEXT,
      customMetadata: DATA,
      inputTranscription: TRANSCRIPTION,
      outputTranscription: TRANSCRIPTION,
      liveSessionResumptionUpdate: RESUMPTION,
      longRunningToolIds: listOf(TEXT),
      requestId: TEXT,
      executionId: TEXT,
      parentExecutionId: TEXT,
      responseId: TEXT,
      object: TEXT,
      tags: listOf(TEXT),
      nodeEvent: shape<NodeEvent>({
        eventType: required(TEXT),
        category: required(oneOf('custom', 'progress', 'text')),
        nodeId: required(TEXT),
        payload: ANY,
        progress: limited(NUMBER, { min: 0, max: 100 }),
        message: TEXT,
        stepNumber: INTEGER,
      }),
      error: shape<ErrorInfo>({ type: required(TEXT), message: required(TEXT), code: TEXT, param: TEXT }),
      output: ANY,
      route: ANY,
      nodeInfo: vendor<NodeInfo>({ path: TEXT, outputFor: listOf(TEXT), messageAsOutput: FLAG }),
      isolationScope: TEXT,
      alternatives: listOf(
        shape<AlternativeResponse>({ index: required(INTEGER), content: CONTENT, finishReason: TEXT }),
      ),
    },
    { name: 'Event' },
  ),
  // trpc-agent-go writes the tags of an event as one string. The ADK has the other fields, which nothing here reads.
  { tag: TEXT, interactionId: TEXT, liveSessionId: TEXT, goAway: VENDOR },
);
