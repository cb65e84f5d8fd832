// A Gemini service for tests, on a real socket. Node only.

export type { FakeGeminiRequest, FakeGeminiRequestBody } from './fake-gemini-request.ts';
export type { FakeGeminiError, FakeGeminiReply, FakeGeminiStep } from './fake-gemini-reply.ts';
export { cutReply, errorBody, errorReply, hangReply, jsonReply, sseReply } from './fake-gemini-reply.ts';
export type { GeminiInteraction, GeminiRecording } from './gemini-recording.ts';
export { recordedReplies } from './gemini-recording.ts';
export type { WireResponse } from './wire-response.ts';
export { wireChunks, wireResponse } from './wire-response.ts';
export type { ByteSplit } from './split-bytes.ts';
export { FakeGeminiServer } from './fake-gemini-server.ts';

export { UnconsumedStepsError } from '../errors/unconsumed-steps-error.ts';
export { UnexpectedRequestError } from '../errors/unexpected-request-error.ts';
