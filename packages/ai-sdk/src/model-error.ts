import { ConfigurationError, EventloomError, ModelError } from '@eventloom/core';
import { isRecord, isRetryableStatus, retryAfterMs, secretRedactor, statusCode } from '@eventloom/core/internal';

/** Maximum length of a service's message, in characters: proxies answer with whole pages. */
const MAX_MESSAGE = 2000;
/** Longest body of an error that is read, in characters. */
const MAX_BODY = 65_536;

/** The call that failed. */
interface FailedAttempt {
  readonly model: string;
  readonly nowMs: number;
  /** Headers of the request, whose secrets the message must not repeat. The key of the provider is not known: it is found by its form. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Headers of the answer to a streamed call of which nothing has been read yet; otherwise undefined. */
  readonly unreadStream?: ResponseHeaders | undefined;
}

type ResponseHeaders = Readonly<Record<string, string>>;

/**
 * Converts an error of a provider to a ModelError with the service's message. Its `errorCode` is the one of the HTTP
 * status, which is the same for all vendors; the vendor's own code follows the message. Without a status it is
 * `UNAVAILABLE` (no connection, a broken connection, or an empty answer), `DEADLINE_EXCEEDED` (a time limit),
 * `DATA_LOSS` (the reply is malformed or is not a stream), `REQUEST_NOT_SENT` (the provider refused the request) or
 * `MODEL_ERROR` (anything else). An error of Eventloom is returned unchanged.
 */
export function toModelError(error: unknown, call: FailedAttempt): EventloomError {
  if (EventloomError.isInstance(error)) return error;
  const fields: Readonly<Record<string, unknown>> = typeof error === 'object' && error !== null ? { ...error } : {};
  const name = error instanceof Error ? error.name : '';
  const redact = secretRedactor(undefined, call.headers);
  if (name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError')
    return new ConfigurationError(`model "${call.model}": ${redact(messageOf(error))}`, { cause: error });
  if (fields['responseBody'] === '' && fields['statusCode'] === 200) return emptyReplyError(call.model, undefined);
  if (call.unreadStream && ENDED.test(messageOf(error))) return emptyReplyError(call.model, call.unreadStream);
  if (repliedWithOtherThanJson(fields)) return otherReplyError(call.model, typeOf(fields), 'JSON');
  const reported = reportedBy(fields);
  // A provider reports a part of a stream that it cannot read as a failure of the service, with a status of its own.
  const status = UNREADABLE.test(messageOf(error)) ? undefined : statusOf(fields, reported);
  return status === undefined
    ? withoutStatus(error, name, fields, call, redact)
    : serviceError(error, status, fields, reported, call, redact);
}

/**
 * Returns the error for a reply that ended before it began. A proxy sends one when the connection behind it broke; and
 * a server at a wrong address answers a streamed call with a page or with JSON, of which the provider reads nothing.
 * @param stream headers of the answer to a streamed call; undefined for another call
 */
export function emptyReplyError(model: string, stream: ResponseHeaders | undefined): ModelError {
  const [, type] = NO_STREAM.exec(stream?.['content-type'] ?? '') ?? [];
  if (type !== undefined && stream?.['content-length'] !== '0') return otherReplyError(model, type, 'a stream');
  const sent = stream ? 'no reply, or no stream of the expected kind' : 'an empty reply';
  return new ModelError(
    `model "${model}": the service sent ${sent}; if that happens always, check the baseURL of the provider`,
    { errorCode: 'UNAVAILABLE', retryable: true },
  );
}

/** The error for an answer of another server than the provider expects, such as a web site. */
function otherReplyError(model: string, type: string, wanted: string): ModelError {
  return new ModelError(
    `model "${model}": the service answered with ${type} instead of ${wanted}; check the baseURL of the provider`,
    { errorCode: 'DATA_LOSS' },
  );
}

/** True for a successful answer that should be JSON but has another content type. */
function repliedWithOtherThanJson(fields: Readonly<Record<string, unknown>>): boolean {
  const { statusCode: status, responseBody } = fields;
  if (status !== 200 || typeof responseBody !== 'string') return false;
  const type = typeOf(fields);
  return type !== '' && !type.includes('json');
}

/** Returns the media type of an answer without its parameters; an empty text if it has none. */
function typeOf({ responseHeaders: headers }: Readonly<Record<string, unknown>>): string {
  const type = isRecord(headers) ? headers['content-type'] : undefined;
  return typeof type === 'string' ? (/^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0].toLowerCase() ?? '') : '';
}

/** Matches the types of answers that are not streams. */
const NO_STREAM = /^(text\/html|application\/(?:problem\+)?json)\b/i;

/** Removes keys from a text: services and proxies repeat a wrong key in their message. */
type Redact = (text: string) => string;

/** The failure as a service describes it, in the body of its answer or in an event of its stream. */
interface Reported {
  readonly message: string | undefined;
  /** `rate_limit_exceeded`, `overloaded_error`, … */
  readonly code: string | undefined;
}

/** Reads `{ error: { message, code, type } }` of a body, the error itself that streams give, and the bodies of other servers. */
function reportedBy(fields: Readonly<Record<string, unknown>>): Reported {
  const { data } = fields;
  const body = isRecord(data) ? data : (otherBody(fields['responseBody']) ?? fields);
  const error = isRecord(body['error']) ? body['error'] : body;
  return {
    message: textOf(error['message']) ?? textOf(body['error']) ?? textOf(body['detail']),
    code: textOf(error['code']) ?? textOf(error['type']),
  };
}

/**
 * Reads the body of an error that has another form than the vendor's, which the provider gives as text: JSON of a local
 * server or a gateway, or a line of text.
 */
function otherBody(body: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof body !== 'string' || body.length > MAX_BODY) return undefined;
  try {
    const parsed: unknown = JSON.parse(body);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    // A page of a proxy is not a message.
    return /^\s*</.test(body) || body.length > MAX_MESSAGE
      ? undefined
      : { message: body.trim().replaceAll(/\s+/g, ' ') };
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** Statuses that services send with these codes. A stream has an event with the code and no status. */
const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  invalid_request_error: 400,
};

function statusOf({ statusCode: status }: Readonly<Record<string, unknown>>, { code }: Reported): number | undefined {
  // A provider reports an unreadable body with the status of the answer, which is a success.
  if (typeof status === 'number') return status >= 400 ? status : undefined;
  return code === undefined ? undefined : STATUS_BY_CODE[code];
}

function serviceError(
  error: unknown,
  status: number,
  fields: Readonly<Record<string, unknown>>,
  reported: Reported,
  { model, nowMs }: FailedAttempt,
  redact: Redact,
): ModelError {
  const { code } = reported;
  const text = reported.message ?? messageOf(error);
  const said = text === '' ? `the service answered with HTTP status ${status}` : text.replace(/\.$/, '');
  const remedy = REMEDIES[status];
  const message = `model "${model}": ${said}${code === undefined ? '' : ` (${code})`}${remedy ? `; ${remedy}` : ''}`;
  const waitMs = delayOf(fields['responseHeaders'], nowMs);
  return new ModelError(redact(message).slice(0, MAX_MESSAGE), {
    errorCode: status === 529 ? 'UNAVAILABLE' : statusCode(status),
    status,
    // An exhausted quota does not recover within seconds.
    retryable: isRetryableStatus(status) && code !== 'insufficient_quota',
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    ...causeWithoutSecrets(error, fields, redact),
  });
}

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'check the apiKey of the provider',
  403: 'check the permissions of the key',
  404: 'check the name of the model and the baseURL of the provider',
};

/** Reads the delay that a service asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. */
function delayOf(headers: unknown, nowMs: number): number | undefined {
  if (!isRecord(headers)) return undefined;
  const { 'retry-after-ms': ms, 'retry-after': header } = headers;
  const exactMs = typeof ms === 'string' && ms.trim() !== '' ? Number(ms) : Number.NaN;
  if (exactMs >= 0 && Number.isFinite(exactMs)) return exactMs;
  return retryAfterMs(typeof header === 'string' ? header : undefined, nowMs);
}

function withoutStatus(
  error: unknown,
  name: string,
  fields: Readonly<Record<string, unknown>>,
  { model }: FailedAttempt,
  redact: Redact,
): ModelError {
  const errorCode = codeWithoutStatus(name, messageOf(error), fields);
  const said = `${messageOf(error)}${causeText(error)}`.replace(VALIDATOR_ISSUES, '');
  const message = `model "${model}": ${DESCRIPTIONS[errorCode]}: ${said}`;
  return new ModelError(redact(message).slice(0, MAX_MESSAGE), {
    errorCode,
    retryable: errorCode === 'UNAVAILABLE' || errorCode === 'DEADLINE_EXCEEDED',
    ...causeWithoutSecrets(error, fields, redact),
  });
}

function codeWithoutStatus(name: string, text: string, { isRetryable }: Readonly<Record<string, unknown>>): string {
  if (name === 'AbortError' || name === 'TimeoutError') return 'DEADLINE_EXCEEDED';
  if (ENDED.test(text)) return 'UNAVAILABLE';
  if (MALFORMED.has(name) || UNREADABLE.test(text)) return 'DATA_LOSS';
  if (name === 'AI_APICallError') return isRetryable === true ? 'UNAVAILABLE' : 'DATA_LOSS';
  if (name.startsWith('AI_')) return 'REQUEST_NOT_SENT';
  return LOST.test(text) ? 'UNAVAILABLE' : 'MODEL_ERROR';
}

/** Matches the messages in which runtimes report a lost connection without a code. */
const LOST = /fetch failed|terminated|network|connection|socket/i;

/** Matches the issues that a validator found, as JSON of many lines. They are in the cause. */
const VALIDATOR_ISSUES = /\.?\nError message: \[[^]*$/;

/** Matches the message of a provider for a stream that just ended. */
const ENDED = /^Response stream ended without a finish reason/;

/** Matches the messages of these errors where a provider passes on only the message. */
const UNREADABLE =
  /^JSON parsing failed: Text: |^Type validation failed: Value: |^Expected a normalized Anthropic stream error/;

/** Names of the AI SDK's errors for an unreadable reply. */
const MALFORMED: ReadonlySet<string> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
  'AI_NoContentGeneratedError',
  'SyntaxError',
]);

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  REQUEST_NOT_SENT: 'the request could not be sent',
  DEADLINE_EXCEEDED: 'the service did not answer in time',
  DATA_LOSS: 'the answer cannot be read',
  UNAVAILABLE: 'the connection to the service failed',
  MODEL_ERROR: 'the call failed',
};

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (isRecord(error)) return textOf(error['message']) ?? JSON.stringify(error);
  return String(error);
}

/** Returns the message of an error's cause, in which network errors have their reason. */
function causeText(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error &&
    cause.message !== '' &&
    error instanceof Error &&
    !error.message.includes(cause.message)
    ? ` (${cause.message})`
    : '';
}

/** Returns the cause, unless a key may be in it: causes are logged, with the address and the body of the answer. */
function causeWithoutSecrets(
  error: unknown,
  { url, responseBody }: Readonly<Record<string, unknown>>,
  redact: Redact,
): { readonly cause?: unknown } {
  const text = [messageOf(error), causeText(error), url, responseBody].join(' ');
  return redact(text) === text ? { cause: error } : {};
}
