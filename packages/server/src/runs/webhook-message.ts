import { encodeBase64, type Platform, type RunWebhook, type SessionKey, toError } from '@eventloom/core';
import { encodeUrlBase64 } from '@eventloom/core/internal';
import type { RunState } from './run-state.ts';

/** Time that a receiver has to answer, in milliseconds. */
export const ATTEMPT_MS: number = 10_000;

/** A message about the end of a run, and its webhook. */
export interface WebhookMessage {
  readonly webhook: RunWebhook;
  readonly data: SessionKey & RunState;
}

/**
 * Posts a message once, in the format of Standard Webhooks 1.0. Redirects are not followed. Never rejects.
 *
 * @param secret signs the message
 * @returns the reason why the message was not accepted; undefined if it was
 */
export async function sendWebhook(
  { webhook: { url, id }, data }: WebhookMessage,
  secret: Uint8Array<ArrayBuffer>,
  platform: Platform,
): Promise<string | undefined> {
  const body = JSON.stringify({ type: `run.${data.state}`, timestamp: new Date(platform.now()).toISOString(), data });
  const timeout = new AbortController();
  const callOff = platform.schedule(ATTEMPT_MS, () => timeout.abort());
  try {
    const messageId = await messageIdOf(id, data);
    const timestamp = String(Math.floor(platform.now() / 1000));
    const signature = await sign(secret, `${messageId}.${timestamp}.${body}`);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': messageId,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      },
      body,
      // A redirect may lead to an origin that is not allowed.
      redirect: 'manual',
      signal: timeout.signal,
    });
    // The response's body is not used.
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

/** Returns the header `webhook-id`: the same in all processes, but another one for another state of the run. */
async function messageIdOf(id: string, { state, code, error, waitingFor }: RunState): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([state, code, error, waitingFor]));
  return `${id}_${encodeUrlBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', text))).slice(0, 22)}`;
}

/** Returns the header `webhook-signature` for a text. */
async function sign(secret: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
  return `v1,${encodeBase64(new Uint8Array(signature))}`;
}
