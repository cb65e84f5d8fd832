import type { SessionKey } from './session-key.ts';

/** A URL to notify of the end of a run. Stored with the run until the message is delivered or its delivery is abandoned. */
export interface RunWebhook extends SessionKey {
  /** Id of the webhook, which the ids of its messages begin with. At most 256 bytes. */
  readonly id: string;
  readonly invocationId: string;
  readonly url: string;
  /** Number of delivery attempts that were started. */
  readonly attempts: number;
  /** Earliest time of the next attempt, in milliseconds since the epoch; 0 means as soon as the run has ended. */
  readonly dueMs: number;
}

/** Parameters of `putRunWebhook`. */
export type PutRunWebhookRequest = Omit<RunWebhook, 'attempts' | 'dueMs'>;

/** Parameters of `listRunWebhooks`. The webhooks of an app are sorted by `dueMs`. */
export interface ListRunWebhooksRequest {
  readonly appName: string;
  /** Lists only the webhooks of this user. Default: those of all users of the app. */
  readonly userId?: string | undefined;
  /** True lists those of open runs as well. Default: only those whose run has ended. */
  readonly includeOpen?: boolean | undefined;
  /** Maximum number of webhooks. Default and upper limit: 1,000. */
  readonly limit?: number | undefined;
}

/** The change of a webhook after an attempt. */
export type RunWebhookChange = Pick<RunWebhook, 'attempts' | 'dueMs'>;
