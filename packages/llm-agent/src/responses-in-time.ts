import { type BaseLlm, type LlmRequest, type LlmResponse, ModelError, type Platform } from '@eventloom/core';
import { within } from '@eventloom/core/internal';

/** One call of a model with a limit of time. */
interface LimitedCall {
  readonly model: BaseLlm;
  readonly request: LlmRequest;
  readonly streaming: boolean;
  readonly abortSignal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly platform: Pick<Platform, 'schedule'>;
}

/**
 * Yields the responses of a model call. If the model yields nothing for `timeoutMs`, fires the signal of the call, and
 * throws without waiting for a model that ignores it. The time for which the reader handles a response does not count.
 * @throws ModelError with the code `DEADLINE_EXCEEDED`, retryable
 */
export async function* responsesInTime(call: LimitedCall): AsyncGenerator<LlmResponse, void, void> {
  const { model, timeoutMs, abortSignal } = call;
  const stopping = new AbortController();
  const signal = abortSignal ? AbortSignal.any([abortSignal, stopping.signal]) : stopping.signal;
  const responses = model.generateContentAsync(call.request, call.streaming, signal);
  try {
    for (;;) {
      const next = await within(call.platform, responses.next(), timeoutMs, () => {
        const error = new ModelError(`model "${model.model}": sent nothing for ${timeoutMs} ms`, {
          errorCode: 'DEADLINE_EXCEEDED',
          retryable: true,
        });
        stopping.abort(error);
        throw error;
      });
      if (!next || next.done === true) return;
      yield next.value;
    }
  } finally {
    const closed = responses.return();
    // A model that ignores the signal may never end.
    if (stopping.signal.aborted) closed.catch(() => undefined);
    else await closed;
  }
}
