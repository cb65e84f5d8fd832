import type { FakeGeminiReply } from './fake-gemini-reply.ts';
import type { ByteSplit } from './split-bytes.ts';

/** A recorded exchange between a client and the real service. */
export interface GeminiRecording {
  readonly stream: boolean;
  readonly interactions: readonly GeminiInteraction[];
}

/** One recorded request and its response. */
export interface GeminiInteraction {
  readonly url?: string;
  readonly method?: string;
  readonly request?: object;
  readonly status: number;
  readonly contentType?: string;
  /** The events of a streamed response, or one whole body. */
  readonly chunks: readonly object[];
}

/** Creates the replies of a recording. An error body that was recorded without its HTTP status gets the status that it names. */
export function recordedReplies(
  recording: GeminiRecording,
  options: { readonly split?: ByteSplit } = {},
): FakeGeminiReply[] {
  return recording.interactions.map(({ status, contentType, chunks }) => {
    const [first] = chunks;
    const code = first && 'error' in first ? (first.error as { code?: number } | null)?.code : undefined;
    return {
      status: status === 200 ? (code ?? 200) : status,
      ...(contentType !== undefined && { headers: { 'content-type': contentType } }),
      ...(recording.stream ? { frames: chunks } : { body: first }),
      ...options,
    };
  });
}
