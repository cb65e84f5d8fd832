import {
  ConfigurationError,
  EventloomError,
  LiveConnectionError,
  type LlmRequest,
  type Platform,
  RunAbortedError,
} from '@eventloom/core';
import type { GenAiClient } from '../client/genai-client.ts';
import type { SocketEnding } from './client-socket.ts';
import { CountedSends } from './counted-sends.ts';
import { GeminiLiveConnection } from './gemini-live-connection.ts';
import { announcesContext, liveDialectOf } from './live-dialect.ts';
import { LiveInbox } from './live-inbox.ts';
import { toConnectionError } from './to-connection-error.ts';
import { isTransparent, resumptionHandle, toLiveConfig } from './to-live-config.ts';
import { errorCodeOfStatus, toLiveResponse } from './to-live-response.ts';
import { WatchedConnection } from './watched-connection.ts';

/** The model, the client and the limits of a connection. */
interface LiveTarget {
  readonly model: string;
  readonly client: GenAiClient;
  readonly platform: Platform;
  readonly redact: (text: string) => string;
  /** Time the service has to set up the connection, in milliseconds. */
  readonly setupTimeoutMs: number;
  readonly abortSignal: AbortSignal | undefined;
}

/** Maximum size of the messages that wait for a slow reader, in characters: about a minute of speech. */
const MAX_INBOX_CHARS = 4 * 1024 * 1024;

/**
 * Opens a live connection and waits until the service has taken the setup.
 * @throws LiveConnectionError, RunAbortedError
 */
export async function connectLive(request: LlmRequest, target: LiveTarget): Promise<GeminiLiveConnection> {
  const { model, client, platform, redact, setupTimeoutMs } = target;
  const abortSignal = anyOf(target.abortSignal, request.config['abortSignal']);
  const { live, vertexai } = client;
  if (abortSignal?.aborted) throw abortedBy(abortSignal, model);
  if (!live)
    throw new ConfigurationError(
      `model "${model}": client: expected a GoogleGenAI with live connections; write client: new GoogleGenAI({ apiKey })`,
    );
  const dialect = liveDialectOf(model);
  const hasContext = announcesContext(request, dialect);
  const sends = isTransparent(request, vertexai) ? new CountedSends() : undefined;
  const hasHandle = resumptionHandle(request) !== undefined;
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  let isSetUp = false;
  let failure: EventloomError | undefined;

  const errorOf = (ending: SocketEnding): LiveConnectionError =>
    toConnectionError({ model, ending, isSetUp, hasHandle, redact });
  const fail = (error: EventloomError): EventloomError => {
    abortSignal?.removeEventListener('abort', abort);
    failure ??= error;
    // A connection that ends right after its setup still counts as open, because messages of the service may wait to be read.
    if (!isSetUp || abortSignal?.aborted) failed.reject(failure);
    inbox.end({ error: failure });
    return failure;
  };
  const abort = (): void => {
    connection.terminate();
    inbox.abort(fail(abortedBy(abortSignal, model)));
  };
  /** Ends the connection from this side, with the error of a lost connection. */
  const giveUp = (why: string): void => {
    connection.terminate();
    fail(errorOf({ failure: why }));
  };
  const inbox = new LiveInbox({
    maxChars: MAX_INBOX_CHARS,
    onFull: () => connection.pause(),
    onRoom: () => connection.resume(),
    onOverflow: () => giveUp('its responses are not read'),
  });
  const connection = new WatchedConnection({
    onMessage: (message) => {
      if (message.error && !isSetUp) {
        connection.terminate();
        const { code = 0, status = errorCodeOfStatus(code), message: reason = status } = message.error;
        fail(errorOf({ code: 1008, reason, status }));
        return;
      }
      if (message.setupComplete) isSetUp = true;
      const response = toLiveResponse(message);
      const index = message.sessionResumptionUpdate?.lastConsumedClientMessageIndex;
      const consumedSends = index === undefined ? undefined : sends?.consumed(Number(index));
      if (response) inbox.push(consumedSends === undefined ? response : { ...response, consumedSends });
    },
    onEnd: (ending) => fail(errorOf(ending)),
  });

  abortSignal?.addEventListener('abort', abort, { once: true });
  const cancelTimeout = platform.schedule(setupTimeoutMs, () =>
    giveUp(`the service did not complete the setup in ${setupTimeoutMs} ms`),
  );
  try {
    const opening = connection.open(live, {
      model,
      config: toLiveConfig(request, vertexai),
      setup: hasContext ? { historyConfig: { initialHistoryInClientContent: true } } : {},
    });
    const session = await Promise.race([opening, failed.promise]);
    return new GeminiLiveConnection({
      session,
      connection,
      inbox,
      vertexai,
      dialect,
      sends,
      isPastAwaited: hasContext,
      platform,
      failure: () => failure,
      onStall: () => giveUp('the network accepts no more data'),
      onClose: () => {
        abortSignal?.removeEventListener('abort', abort);
        inbox.end({});
      },
    });
  } catch (error) {
    connection.terminate();
    throw fail(EventloomError.isInstance(error) ? error : unsent(error, target));
  } finally {
    cancelTimeout();
  }
}

function abortedBy(signal: AbortSignal | undefined, model: string): RunAbortedError {
  return new RunAbortedError(`model "${model}": the call was aborted`, { cause: signal?.reason });
}

function anyOf(signal: AbortSignal | undefined, ownSignal: unknown): AbortSignal | undefined {
  if (!(ownSignal instanceof AbortSignal)) return signal;
  return signal ? AbortSignal.any([signal, ownSignal]) : ownSignal;
}

/** Matches the messages in which runtimes and the client's authentication report a network failure. */
const LOST = /fetch failed|network|socket|timed? ?out|ECONN|ENOTFOUND|EAI_AGAIN/i;

/** Returns the error for a request that was not sent: the client refused it, or got no credentials. */
function unsent(error: unknown, { model, redact }: LiveTarget): LiveConnectionError {
  const text = error instanceof Error ? error.message : String(error);
  return new LiveConnectionError(redact(`model "${model}": the live connection could not be made: ${text}`), {
    isRetryable: LOST.test(text),
    ...(redact(text) === text && { cause: error }),
  });
}
