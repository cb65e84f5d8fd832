import type { SessionKey } from './session.ts';

/** The wish that a URL is told of the end of a run, stored with the run until the message is delivered or given up. */
export interface RunWebhook extends SessionKey {
  /** Names the message: the same in all attempts, in all processes. At most 256 bytes. */
  readonly id: string;
  readonly invocationId: string;
  readonly url: string;
  /** Number of attempts that were begun. */
  readonly attempts: number;
  /** Earliest time of the next attempt, in milliseconds since the epoch; 0: as soon as the run has ended. */
  readonly dueMs: number;
}

/** Stores a webhook with its run. */
export type PutRunWebhookRequest = Omit<RunWebhook, 'attempts' | 'dueMs'>;

/** Lists webhooks, those that are due first. */
export interface ListRunWebhooksRequest {
  readonly appName: string;
  /** All of the app's users when absent. */
  readonly userId?: string | undefined;
  /** True lists those of open runs as well. Default: only those whose run has ended. */
  readonly includeOpen?: boolean | undefined;
  /** At most so many; default and maximum 1,000. */
  readonly limit?: number | undefined;
}

/** The change of a webhook after an attempt. */
export type RunWebhookChange = Pick<RunWebhook, 'attempts' | 'dueMs'>;
