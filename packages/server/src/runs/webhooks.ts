import {
  ConfigurationError,
  decodeBase64,
  encodeBase64,
  InvalidRequestError,
  type Platform,
  type SessionKey,
  toError,
} from '@eventloom/core';
import { ForbiddenError, ServerBusyError, UserLimitError, WebhookError } from '../errors.ts';
import { within } from './run-hub.ts';
import type { RunState } from './run-state.ts';

/** How a server tells others of the ends of runs. */
export interface WebhookOptions {
  /** What messages are signed with, as Standard Webhooks writes it: `whsec_` and the base64 of 24 to 64 random bytes. */
  readonly secret: string;
  /**
   * The origins that messages may be sent to, e.g. `https://hooks.example`. A request cannot name another one, so no client can have the server
   * call addresses of its own network. An origin with `http:` is taken for development.
   */
  readonly origins: readonly string[];
}

/** A message that is about to be sent. */
export interface WebhookTarget {
  readonly url: string;
  /** The session of the run. */
  readonly key: SessionKey;
}

/** Milliseconds before each attempt behind the first; each is made up to half as long again, so that receivers are not called all at once. */
const RETRY_AFTER_MS = [5_000, 10_000, 20_000, 40_000, 80_000];
const ATTEMPT_MS = 10_000;
/** How long the end of the server waits for attempts that are under way. */
const DRAIN_MS = 1_000;
const MAX_URL_CHARS = 2048;
/** Runs whose messages are not delivered yet: of all users, and of one. */
const MAX_PENDING = 1_000;
const MAX_PENDING_OF_USER = 50;

/**
 * Tells of the ends of runs by signed messages, as Standard Webhooks 1.0 writes them. A message is sent again until the receiver answers with
 * a status from 200 to 299 or with 410, at most six times in about three minutes. It is sent by the process in which the run ended: one that ends or is
 * killed before leaves the message unsent, so a receiver that must know asks for the state of the run.
 */
export class Webhooks {
  readonly #secret: Uint8Array<ArrayBuffer>;
  readonly #origins: ReadonlySet<string>;
  readonly #platform: Platform;
  readonly #report: (error: unknown) => void;
  /** Messages that are not delivered yet, by user. */
  readonly #pending = new Map<string, number>();
  #pendingCount = 0;
  /** Attempts under way. */
  readonly #attempts = new Set<Promise<unknown>>();

  /** @throws ConfigurationError */
  constructor(options: WebhookOptions, platform: Platform, report: (error: unknown) => void) {
    this.#secret = checkWebhookOptions(options);
    this.#origins = new Set(options.origins);
    this.#platform = platform;
    this.#report = report;
  }

  /**
   * Checks what a request says as `webhook`.
   * @returns its url
   * @throws InvalidRequestError @throws ForbiddenError for an origin that is not listed
   * @throws UserLimitError @throws ServerBusyError while too many messages wait
   */
  check(webhook: unknown, { userId }: SessionKey): string {
    const { url, ...others } =
      typeof webhook === 'object' && webhook !== null ? (webhook as Record<string, unknown>) : {};
    const [other] = Object.keys(others);
    if (other !== undefined)
      throw new InvalidRequestError(`webhook: has no field ${JSON.stringify(other)}; it has url`);
    if (typeof url !== 'string' || url.length > MAX_URL_CHARS || !URL.canParse(url))
      throw new InvalidRequestError(`webhook.url: must be a URL of at most ${MAX_URL_CHARS} characters`);
    const { origin, username, password } = new URL(url);
    if (username !== '' || password !== '')
      throw new InvalidRequestError('webhook.url: must not have a user or a password; check the signature instead');
    if (!this.#origins.has(origin))
      throw new ForbiddenError(
        `webhook.url: this server sends nothing to ${origin}; name it in webhooks.origins to allow it`,
      );
    if ((this.#pending.get(userId) ?? 0) >= MAX_PENDING_OF_USER)
      throw new UserLimitError(`webhook: the user has ${MAX_PENDING_OF_USER} that are not delivered yet; try again`);
    if (this.#pendingCount >= MAX_PENDING)
      throw new ServerBusyError(`webhook: ${MAX_PENDING} are not delivered yet; try again`);
    return url;
  }

  /**
   * Tells of the end of a run. Never rejects; what cannot be delivered is reported as a WebhookError.
   * @param readState asked once the run is over; a run that goes on elsewhere is not told of
   */
  async announce(
    { url, key }: WebhookTarget,
    ended: Promise<unknown>,
    readState: () => Promise<RunState>,
  ): Promise<void> {
    const { userId } = key;
    this.#pendingCount++;
    this.#pending.set(userId, (this.#pending.get(userId) ?? 0) + 1);
    try {
      await ended;
      const state = await this.#during(readState());
      if (state.state !== 'running') await this.#deliver(url, { ...key, ...state });
    } catch (error) {
      this.#report(error);
    } finally {
      this.#pendingCount--;
      const left = (this.#pending.get(userId) ?? 1) - 1;
      if (left > 0) this.#pending.set(userId, left);
      else this.#pending.delete(userId);
    }
  }

  /** Waits a short while for attempts that are under way. */
  async drain(): Promise<void> {
    if (this.#pendingCount === 0) return;
    const settle = async (): Promise<void> => {
      do {
        // What comes behind the end of a run has its turn first.
        await new Promise<void>((resolve) => this.#platform.schedule(0, resolve));
        await Promise.all(this.#attempts);
      } while (this.#attempts.size > 0);
    };
    await within(this.#platform, settle(), DRAIN_MS);
  }

  async #deliver(url: string, data: SessionKey & RunState): Promise<void> {
    const platform = this.#platform;
    const id = `msg_${platform.newUuid()}`;
    const timestamp = new Date(platform.now()).toISOString();
    const body = JSON.stringify({ type: `run.${data.state}`, timestamp, data });
    let failure: string | undefined;
    for (const waitMs of [0, ...RETRY_AFTER_MS]) {
      if (waitMs > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        platform.schedule(waitMs * (1 + Math.random() / 2), resolve, { idle: true });
        await promise;
      }
      failure = await this.#during(this.#attempt(url, id, body));
      if (failure === undefined) return;
    }
    throw new WebhookError(
      `the end of run ${data.invocationId} could not be told to ${new URL(url).origin}: ${failure}`,
    );
  }

  /** @returns why the message was not taken */
  async #attempt(url: string, id: string, body: string): Promise<string | undefined> {
    const timeout = new AbortController();
    const callOff = this.#platform.schedule(ATTEMPT_MS, () => timeout.abort(), { idle: true });
    try {
      const timestamp = String(Math.floor(this.#platform.now() / 1000));
      const signature = await sign(this.#secret, `${id}.${timestamp}.${body}`);
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': signature,
        },
        body,
        // Another address is not one of the origins that are allowed.
        redirect: 'manual',
        signal: timeout.signal,
      });
      // What is answered is not read.
      await response.body?.cancel();
      return response.ok || response.status === 410 ? undefined : `it answered ${response.status}`;
    } catch (error) {
      if (timeout.signal.aborted) return `no answer in ${ATTEMPT_MS} ms`;
      const { message, cause } = toError(error);
      return cause === undefined ? message : `${message}: ${toError(cause).message}`;
    } finally {
      callOff();
    }
  }

  async #during<T>(attempt: Promise<T>): Promise<T> {
    const settled = attempt.then(
      () => undefined,
      () => undefined,
    );
    this.#attempts.add(settled);
    try {
      return await attempt;
    } finally {
      this.#attempts.delete(settled);
    }
  }
}

/** The header `webhook-signature` of a text. */
async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
  return `v1,${encodeBase64(new Uint8Array(signature))}`;
}

/** @returns the bytes of the secret @throws ConfigurationError that does not quote it */
export function checkWebhookOptions({ secret, origins }: WebhookOptions): Uint8Array<ArrayBuffer> {
  const bytes = secretBytes(secret);
  if (!bytes || bytes.length < 24 || bytes.length > 64)
    throw new ConfigurationError(
      'createServer: webhooks.secret: must be whsec_ and the base64 of 24 to 64 random bytes, as echo "whsec_$(openssl rand -base64 32)" prints it',
    );
  if (!Array.isArray(origins) || origins.length === 0)
    throw new ConfigurationError('createServer: webhooks.origins: must list the origins that messages may be sent to');
  for (const origin of origins) {
    if (
      typeof origin === 'string' &&
      /^https?:/.test(origin) &&
      URL.canParse(origin) &&
      new URL(origin).origin === origin
    )
      continue;
    throw new ConfigurationError(
      `createServer: webhooks.origins: ${JSON.stringify(origin)} is no origin; write it like https://hooks.example, without a path`,
    );
  }
  return bytes;
}

function secretBytes(secret: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof secret !== 'string' || !secret.startsWith('whsec_')) return undefined;
  try {
    return decodeBase64(secret.slice('whsec_'.length));
  } catch {
    return undefined;
  }
}
