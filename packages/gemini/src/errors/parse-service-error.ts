import { isRecord, tryParseJson } from '@eventloom/core/internal';
/** The service's description of a failure. */
interface ServiceError {
  readonly message?: string;
  /** The service's name of the failure: `RESOURCE_EXHAUSTED`, … */
  readonly status?: string;
  /** The delay that `google.rpc.RetryInfo` requests, in milliseconds. */
  readonly retryDelayMs?: number;
  /** True if the quota of a whole day is used up: a retry after some seconds would fail too. */
  readonly dayQuota?: boolean;
}

/** Maximum depth of errors that are wrapped in the message of another error. */
const MAX_DEPTH = 4;

/**
 * Finds the service's error in the text of the client's error: JSON alone, JSON after other text (`got status: X. {…}`, `data: {…}`), in a
 * list, or as text inside the message of an outer error. Returns undefined if there is none.
 */
export function parseServiceError(text: string, depth = 0): ServiceError | undefined {
  const json = jsonIn(text);
  const outer: unknown = Array.isArray(json) ? json[0] : json;
  if (!isRecord(outer)) return undefined;
  const error = isRecord(outer['error']) ? outer['error'] : outer;
  const message = textOf(error['message']) ?? textOf(outer['error']);
  const inner = message !== undefined && depth < MAX_DEPTH ? parseServiceError(message, depth + 1) : undefined;
  const details = Array.isArray(error['details']) ? error['details'].filter(isRecord) : [];
  const retryDelayMs = firstDefined(details, retryDelayOf);
  const status = textOf(error['status']);
  return {
    ...(message !== undefined && { message }),
    ...(status !== undefined && /^[A-Z][A-Z0-9_]+$/.test(status) && { status }),
    ...(retryDelayMs !== undefined && { retryDelayMs }),
    ...(details.some(isDayQuota) && { dayQuota: true }),
    ...inner,
  };
}

function jsonIn(text: string): unknown {
  const start = text.search(/[[{]/);
  return start < 0 ? undefined : tryParseJson(text.slice(start));
}

/** Reads `retryDelay`, a protobuf duration: `34.4s`, or seconds and nanos. */
function retryDelayOf(detail: Readonly<Record<string, unknown>>): number | undefined {
  const delay = detail['retryDelay'];
  if (typeof delay === 'string') {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1];
    return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
  }
  if (!isRecord(delay)) return undefined;
  const seconds = Number(delay['seconds'] ?? 0);
  const nanos = Number(delay['nanos'] ?? 0);
  return Number.isFinite(seconds + nanos) ? Math.round(seconds * 1000 + nanos / 1e6) : undefined;
}

/** True for a `google.rpc.QuotaFailure` that names a quota per day, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
function isDayQuota(detail: Readonly<Record<string, unknown>>): boolean {
  const violations = Array.isArray(detail['violations']) ? detail['violations'] : [];
  return violations.filter(isRecord).some(({ quotaId }) => typeof quotaId === 'string' && quotaId.includes('PerDay'));
}

function firstDefined<T, R>(items: readonly T[], read: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const value = read(item);
    if (value !== undefined) return value;
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
