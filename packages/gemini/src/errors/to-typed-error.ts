import { EventloomError, ModelError, RunAbortedError } from '@eventloom/core';
import { isRetryableStatus, retryAfterMs, statusCode } from '@eventloom/core/internal';
import type { HttpExchange } from '../client/http-exchange.ts';
import { parseServiceError } from './parse-service-error.ts';

/** Maximum length of a service's message, in characters: proxies answer with whole pages. */
const MAX_MESSAGE = 2000;

/** The call that failed. */
interface FailedCall {
  readonly model: string;
  readonly exchange: HttpExchange;
  readonly nowMs: number;
  readonly redact: (text: string) => string;
  /** See `GeminiClientOptions.apiKeyName`. */
  readonly apiKeyName?: string | undefined;
}

/**
 * Converts an error of the client: to a RunAbortedError if the caller ended the call, otherwise to a ModelError. A ModelError has the
 * service's message and code if the service reported the failure; otherwise one of these codes: `UNAVAILABLE` (no connection, or a lost
 * one), `DEADLINE_EXCEEDED` (the `timeout` of the HTTP options), `DATA_LOSS` (the reply is malformed), `REQUEST_NOT_SENT` (the client
 * refused the request, or has no credentials). No message contains a key.
 */
export function toTypedError(error: unknown, call: FailedCall): EventloomError {
  const { model, exchange } = call;
  const abort = exchange.callerAbort;
  if (abort) return new RunAbortedError(`model "${model}": the call was aborted`, { cause: abort.reason });
  if (EventloomError.isInstance(error)) return error;
  const status =
    httpStatusOf(error) ?? (exchange.response && !exchange.response.ok ? exchange.response.status : undefined);
  return status === undefined ? connectionError(error, call) : serviceError(error, status, call);
}

function serviceError(
  error: unknown,
  status: number,
  { model, exchange, nowMs, redact, apiKeyName }: FailedCall,
): ModelError {
  const text = messageOf(error);
  const reported = parseServiceError(text);
  const reason =
    reported?.message ?? (text === '' || reported ? `the service answered with HTTP status ${status}` : text);
  const remedy = remedyFor(status, reason, apiKeyName);
  const message = remedy === undefined ? reason : `model "${model}": ${reason.replace(/\.$/, '')}; ${remedy}`;
  const waitMs = reported?.retryDelayMs ?? retryAfterMs(exchange.response?.headers.get('retry-after'), nowMs);
  return new ModelError(redact(message).slice(0, MAX_MESSAGE), {
    errorCode: reported?.status ?? statusCode(status),
    status,
    retryable: isRetryableStatus(status) && !reported?.dayQuota,
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    ...causeWithoutSecrets(error, redact),
  });
}

/** Returns what the developer can do about a refusal of the key or of the name of the model. */
function remedyFor(status: number, reason: string, apiKeyName: string | undefined): string | undefined {
  if ((status === 400 && /\bAPI key\b/i.test(reason)) || status === 401 || status === 403)
    return apiKeyName === undefined
      ? 'check the apiKey that Gemini, geminiModels or InMemoryRunner got (https://aistudio.google.com/apikey), or on Vertex AI the project and its permissions'
      : `check the key in ${apiKeyName} (https://aistudio.google.com/apikey)`;
  if (status === 400 && COMBINED.test(reason))
    return 'give the search to an agent of its own: new GoogleSearchAgentTool(createGoogleSearchAgent(model))';
  if (status === 404) return 'check the name of the model, and the baseUrl if there is one';
  return undefined;
}

/** Matches refusals of the service's own tools beside functions: models before Gemini 3 do not accept both in one request. */
const COMBINED =
  /Function Calling cannot be combined|Tool use with function calling is unsupported|only when they are all search tools/i;

function connectionError(error: unknown, { model, exchange, redact }: FailedCall): ModelError {
  const text = messageOf(error);
  const name = error instanceof Error ? error.name : '';
  const lost = exchange.watched ? Boolean(exchange.failure ?? exchange.response) : LOST.test(text);
  let errorCode = 'REQUEST_NOT_SENT';
  if (name === 'AbortError' || name === 'TimeoutError') errorCode = 'DEADLINE_EXCEEDED';
  else if (name === 'SyntaxError' || text.startsWith('exception parsing stream chunk')) errorCode = 'DATA_LOSS';
  else if (lost || text.startsWith('Incomplete JSON segment')) errorCode = 'UNAVAILABLE';
  return new ModelError(
    redact(`model "${model}": ${DESCRIPTIONS[errorCode]}: ${text}${causeText(error)}`).slice(0, MAX_MESSAGE),
    {
      errorCode,
      retryable: errorCode === 'UNAVAILABLE' || errorCode === 'DEADLINE_EXCEEDED',
      ...causeWithoutSecrets(error, redact),
    },
  );
}

/** Matches the messages in which runtimes report a lost connection without a code. */
const LOST = /fetch failed|terminated|network|connection/i;

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  REQUEST_NOT_SENT: 'the request could not be sent',
  DEADLINE_EXCEEDED: 'the service did not answer in time',
  DATA_LOSS: 'the answer cannot be read',
  UNAVAILABLE: 'the connection to the service failed',
};

/** Recognises the client's ApiError by its shape: importing the class would load the whole client. */
function httpStatusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  return typeof error.status === 'number' && error.status >= 400 ? error.status : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the message of an error's cause, in which `fetch failed` has its reason. */
function causeText(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : '';
}

/** Returns the cause, unless a key is in it: causes are logged. */
function causeWithoutSecrets(error: unknown, redact: (text: string) => string): { readonly cause?: unknown } {
  const text = messageOf(error) + causeText(error);
  return redact(text) === text ? { cause: error } : {};
}
