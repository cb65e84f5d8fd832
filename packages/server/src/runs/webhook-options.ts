import { ConfigurationError, decodeBase64, InvalidRequestError } from '@eventloom/core';
import { checkOptions, describeKind, isRecord, type OptionRules } from '@eventloom/core/internal';
import { ForbiddenError } from '../errors.ts';
import { originToWrite, quotedName, shownAddress } from '../http/request-body.ts';

/** Options of webhooks, which notify other servers of the ends of runs. */
export interface WebhookOptions {
  /** The secret that signs messages, in the format of Standard Webhooks: `whsec_` and the base64 of 24 to 64 random bytes. */
  readonly secret: string;
  /**
   * The origins that messages may be sent to, e.g. `https://hooks.example`. A request with another origin is refused,
   * so that clients cannot make the server call addresses of its own network. Redirects are not followed. A client
   * chooses the path and the query, and the name of an origin may resolve to any address, so list only origins that you
   * trust; `http:` is for development, and networks of your own.
   */
  readonly origins: readonly string[];
}

const OPTIONS: OptionRules<WebhookOptions> = { secret: 'text', origins: 'list' };

const MAX_URL_CHARS = 2048;

/**
 * Checks the options.
 *
 * @returns the bytes of the secret
 * @throws ConfigurationError that does not quote the secret
 */
export function checkWebhookOptions(options: WebhookOptions): Uint8Array<ArrayBuffer> {
  checkOptions('webhooks', OPTIONS, options);
  const { secret, origins } = options;
  const bytes = secretBytes(secret);
  if (!bytes || bytes.length < 24 || bytes.length > 64)
    throw new ConfigurationError(
      'webhooks.secret: expected whsec_ and the base64 of 24 to 64 random bytes; create one with echo "whsec_$(openssl rand -base64 32)"',
    );
  if (!Array.isArray(origins) || origins.length === 0)
    throw new ConfigurationError(
      "webhooks.origins: expected a list of the origins that messages may be sent to; write origins: ['https://hooks.example']",
    );
  for (const origin of origins) {
    if (
      typeof origin === 'string' &&
      /^https?:/.test(origin) &&
      URL.canParse(origin) &&
      new URL(origin).origin === origin
    )
      continue;
    throw new ConfigurationError(
      `webhooks.origins: ${JSON.stringify(origin)} is not an origin; ${originToWrite(origin, 'https://hooks.example')}`,
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

/**
 * Checks the field `webhook` of a request.
 *
 * @returns its address, without what a storage cannot keep, such as a NUL
 * @throws InvalidRequestError
 * @throws ForbiddenError for an origin that is not listed
 */
export function checkWebhookUrl(webhook: unknown, origins: ReadonlySet<string>): string {
  if (!isRecord(webhook))
    throw new InvalidRequestError(
      `webhook: expected an object, got ${describeKind(webhook)}; write "webhook": { "url": "https://hooks.example/runs" }`,
    );
  const { url, ...others } = webhook;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new InvalidRequestError(
      `webhook: has no field ${quotedName(other)}; write "webhook": { "url": "https://hooks.example/runs" }`,
    );
  const parsed = typeof url === 'string' && url.length <= MAX_URL_CHARS && URL.canParse(url) ? new URL(url) : undefined;
  if (typeof url !== 'string' || !parsed || !/^https?:$/.test(parsed.protocol))
    throw new InvalidRequestError(
      `webhook.url: expected an https: URL of at most ${MAX_URL_CHARS} characters, such as "https://hooks.example/runs"`,
    );
  const { href, origin, username, password } = parsed;
  if (username !== '' || password !== '')
    throw new InvalidRequestError(
      'webhook.url: contains a user or a password; remove them, and verify the signature of the webhook instead',
    );
  if (!origins.has(origin))
    throw new ForbiddenError(
      `webhook.url: this server sends no webhooks to ${shownAddress(origin)}; add the origin to webhooks.origins to allow it`,
    );
  return href;
}
