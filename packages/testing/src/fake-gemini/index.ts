// A Gemini service for tests, on a real socket. Node only.

// Requests and replies
export type { FakeGeminiRequest, FakeGeminiRequestBody } from './fake-gemini-request.ts';
export type { FakeGeminiError, FakeGeminiReply, FakeGeminiStep } from './fake-gemini-reply.ts';
export { cutReply, errorBody, errorReply, hangReply, jsonReply, sseReply } from './fake-gemini-reply.ts';
export type { GeminiInteraction, GeminiRecording } from './gemini-recording.ts';
export { recordedReplies } from './gemini-recording.ts';
export type { WireResponse } from './wire-response.ts';
export { wireChunks, wireResponse } from './wire-response.ts';
export type { ByteSplit } from './split-bytes.ts';
export { splitBytes } from './split-bytes.ts';
export { FakeGeminiServer } from './fake-gemini-server.ts';

// Live connections
export type {
  FakeLiveConnectionScript,
  FakeLiveClose,
  FakeLiveCue,
  FakeLiveCut,
  FakeLiveScript,
  FakeLiveStep,
  LiveWireMatcher,
  LiveWireMessage,
} from './live/fake-live-script.ts';
export type { LivePath } from './live/parse-live-path.ts';
export type { FakeLiveConnection, LiveClosing } from './live/fake-live-connection.ts';
export type { FakeGeminiLive } from './live/fake-gemini-live.ts';
export type { LiveRecording } from './live/live-recording.ts';
export { recordedLive } from './live/live-recording.ts';

// Errors
export { UnconsumedStepsError, UnexpectedRequestError } from '../errors.ts';
