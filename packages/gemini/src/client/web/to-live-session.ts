import { InvalidMessageError } from '@eventloom/core';
import type { Content, Part } from '@google/genai';
import type { LiveSession } from '../genai-client.ts';
import { pickFields } from './pick-fields.ts';

const PART_FIELDS = [
  'mediaResolution',
  'toolCall',
  'toolResponse',
  'audioTranscription',
  'codeExecutionResult',
  'executableCode',
  'fileData',
  'functionCall',
  'functionResponse',
  'inlineData',
  'text',
  'thought',
  'thoughtSignature',
  'videoMetadata',
  'partMetadata',
  'mediaProcessing',
  'speechMetadata',
] as const satisfies readonly (keyof Part)[];

/**
 * Creates a live session over a connection that is set up, with the methods of the client's `Session`.
 * @throws InvalidMessageError (from its methods) for messages that would make the service end the connection
 */
export function toLiveSession(send: (message: object) => void, close: () => void, vertexai: boolean): LiveSession {
  return {
    close,
    sendClientContent: ({ turns, turnComplete = true }) =>
      send({ clientContent: { ...(turns && { turns: toTurns(turns, vertexai) }), turnComplete } }),
    sendRealtimeInput: ({ media, ...input }) =>
      send({ realtimeInput: { ...input, ...(media && { mediaChunks: [media] }) } }),
    sendToolResponse({ functionResponses }) {
      for (const response of functionResponses) {
        if (!('name' in response && 'response' in response && (vertexai || 'id' in response)))
          throw new InvalidMessageError(
            'gemini: a function response needs `name`, `response` and the `id` of its call',
          );
      }
      send({ toolResponse: { functionResponses } });
    },
  };
}

/** Returns the turns for the Gemini API with only the fields that it knows, because it refuses all others. */
function toTurns(turns: readonly Content[], vertexai: boolean): readonly Content[] {
  return turns.map((turn) => {
    const { role, parts } = turn;
    if (!parts)
      throw new InvalidMessageError(
        "gemini: a turn of a live connection needs parts; write { role: 'user', parts: [{ text: 'hello' }] }",
      );
    if (vertexai) return turn;
    return {
      parts: parts.map((part) => {
        const { functionCall, ...wire } = pickFields(part, PART_FIELDS);
        return { ...wire, ...(functionCall && { functionCall: pickFields(functionCall, ['args', 'id', 'name']) }) };
      }),
      ...(role && { role }),
    };
  });
}
