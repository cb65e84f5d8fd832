import {
  type BaseSessionService,
  type Platform,
  RunAbortedError,
  type RunWebhook,
  RunNotFoundError,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { MAX_OUTAGE_MS, repeatWhileUnavailable, within } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { UserLimitError, WebhookError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';
import { SESSION_DELETED } from './failed-run.ts';
import type { RunHub } from './run-hub.ts';
import type { RunState } from './run-state.ts';
import { ATTEMPT_MS, sendWebhook, type WebhookMessage } from './webhook-message.ts';
import { checkWebhookOptions, checkWebhookUrl, type WebhookOptions } from './webhook-options.ts';

/** Parameters of `Webhooks`. */
interface WebhooksParams {
  readonly runners: readonly Pick<Runner, 'appName' | 'sessionService'>[];
  readonly hub: {
    readonly follower: Pick<RunHub['follower'], 'state'>;
    readonly unfinished: Pick<RunHub['unfinished'], 'onEnded'>;
  };
  readonly limits: Pick<ServerLimits, 'unfinishedRunsEveryMs'>;
  readonly platform: Platform;
  /** Receives an error for each message that could not be delivered, and the first error of a storage that cannot be read. */
  readonly report: (error: unknown) => void;
}

/**
 * Delays before the attempts after the first, in milliseconds. Each is lengthened at random by up to half, so that receivers do not get all
 * messages at the same time.
 */
const RETRY_AFTER_MS = [5_000, 10_000, 20_000, 40_000, 80_000];
/** Maximum time until a stored attempt, in milliseconds. A later one was stored while the clock was ahead. */
const MAX_WAIT_MS = 1.5 * Math.max(...RETRY_AFTER_MS);
/** Maximum duration of an attempt, in milliseconds. After that, another process may repeat an attempt whose process ended. */
const CLAIM_MS = 2 * ATTEMPT_MS;
/** Time that `drain` waits for active attempts, in milliseconds. */
const DRAIN_MS = 1_000;
/** Maximum number of undelivered messages of one user, including those of active runs. */
const MAX_PENDING_OF_USER = 50;
/** Time after which a user with too many undelivered messages may try again, in seconds: about that of half of the attempts. */
const PENDING_RETRY_AFTER_S = 60;
/** Maximum number of active attempts in this process, for all users. */
const MAX_ATTEMPTS = 64;
/** Maximum number of active attempts for one user, whose receiver may be slow. */
const MAX_ATTEMPTS_OF_USER = 8;
/**
 * Maximum number of listed webhooks: those of twenty users who have as many as they may, so that those of other users
 * are found as well.
 */
const MAX_LISTED = 20 * MAX_PENDING_OF_USER;

/** The user of a run with a webhook. */
type WebhookUser = Pick<SessionKey, 'appName' | 'userId'>;

/** An active attempt. */
interface WebhookAttempt {
  readonly userId: string;
  /** The origin of the receiver. */
  readonly origin: string;
  readonly settled: Promise<void>;
}

/**
 * Reports the ends of runs by signed messages, in the format of Standard Webhooks 1.0. A message is sent again until the receiver answers
 * with a status from 200 to 299 or with 410, at most six times in three to four minutes.
 *
 * A webhook is stored with its run, and each attempt is stored before it is made. A message that one process did not deliver is therefore
 * delivered by the next process, or another one with the same sessions: at least once, with the same `webhook-id`. If the run has another
 * state at the next attempt, because it waited and was answered, that attempt is a new message with another `webhook-id`.
 */
export class Webhooks {
  readonly #secret: Uint8Array<ArrayBuffer>;
  readonly #origins: ReadonlySet<string>;
  readonly #params: WebhooksParams;
  /** Active attempts, by the ids of their webhooks. */
  readonly #attempts = new Map<string, WebhookAttempt>();
  /** The users whose runs have ended since the last search. */
  #endedUsers: WebhookUser[] = [];
  #searching: Promise<void> | undefined;
  #isAsked = false;
  /** The time of the next attempt; `Infinity` if there is none. */
  #dueMs = Infinity;
  #callOff: (() => void) | undefined;
  #hasFailed = false;
  #isStopped = false;

  /** @throws ConfigurationError */
  constructor(options: WebhookOptions, params: WebhooksParams) {
    this.#secret = checkWebhookOptions(options);
    this.#origins = new Set(options.origins);
    this.#params = params;
  }

  /** Time of the next attempt that is known here, in milliseconds since the epoch; `Infinity` if there is none. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /**
   * Searches for due messages at intervals, and whenever this process has ended a run of a lost one. Its timers do not
   * keep the process alive.
   */
  start(): void {
    this.#params.hub.unfinished.onEnded((run) => this.noteStored(run));
    if (this.#params.limits.unfinishedRunsEveryMs > 0) void this.search();
  }

  /**
   * Checks the field `webhook` of a request.
   * @returns the webhook to store with the run as it begins
   * @throws InvalidRequestError
   * @throws ForbiddenError for an origin that is not listed
   * @throws UserLimitError while too many messages of the user wait
   * @throws StorageError if the storage cannot be used for 10 seconds
   */
  async check(
    webhook: unknown,
    service: BaseSessionService,
    { appName, userId }: SessionKey,
  ): Promise<Pick<RunWebhook, 'id' | 'url'>> {
    const url = checkWebhookUrl(webhook, this.#origins);
    const pendingOfUser = { appName, userId, includeOpen: true, limit: MAX_PENDING_OF_USER };
    const list = async (): Promise<RunWebhook[]> => service.listRunWebhooks(pendingOfUser);
    const { platform } = this.#params;
    const endMs = platform.now() + MAX_OUTAGE_MS;
    const pending = await list().catch((error: unknown) => repeatWhileUnavailable(list, error, platform, endMs));
    if (pending.length >= MAX_PENDING_OF_USER)
      throw new UserLimitError(
        `webhook: the user has ${MAX_PENDING_OF_USER} undelivered webhooks, which is the maximum; try again when some are delivered, or leave webhook out`,
        { retryAfterS: PENDING_RETRY_AFTER_S },
      );
    return { id: `msg_${platform.newUuid()}`, url };
  }

  /** Records that a webhook was stored with a run of a user. This process or another one sends the message when the run has ended. */
  noteStored(user: WebhookUser, ended: Promise<void> = Promise.resolve()): void {
    const { platform } = this.#params;
    this.#dueMs = Math.min(this.#dueMs, platform.now());
    const search = (): Promise<void> => {
      this.#endedUsers.push(user);
      return this.search();
    };
    platform.background(ended.then(search));
  }

  /**
   * Starts the attempts that are due, without waiting for them. Never rejects. Schedules the next search, unless
   * `limits.unfinishedRunsEveryMs` is 0.
   */
  search(): Promise<void> {
    this.#isAsked = true;
    this.#searching ??= this.#searchWhileAsked().finally(() => (this.#searching = undefined));
    return this.#searching;
  }

  /**
   * Claims the messages of a session's runs, before the session is deleted and the webhooks with it. A run that has not ended counts as
   * aborted. Takes the session, so that no process begins a further run with a webhook until it is deleted. If it is not deleted, its lease
   * expires, and a later search sends the messages.
   */
  async claimMessagesOf(
    service: BaseSessionService,
    { appName, userId, sessionId }: SessionKey,
  ): Promise<WebhookMessage[]> {
    const messages: WebhookMessage[] = [];
    try {
      await service.acquireLease({ appName, userId, sessionId, onBusy: 'interrupt' });
    } catch (error) {
      if (!SessionNotFoundError.isInstance(error)) throw error;
      return messages;
    }
    const request = { appName, userId, includeOpen: true, limit: MAX_LISTED };
    for (const webhook of await service.listRunWebhooks(request)) {
      if (webhook.sessionId !== sessionId || this.#attempts.has(webhook.id)) continue;
      const state = await this.#stateOf(service, webhook);
      const { invocationId } = webhook;
      const end: RunState | undefined = isPending(state)
        ? { invocationId, state: 'interrupted', code: RunAbortedError.code, error: SESSION_DELETED }
        : state;
      if (end && (await this.#claim(service, webhook)))
        messages.push({ webhook, data: { appName, userId, sessionId, ...end } });
    }
    return messages;
  }

  /** Sends each of these messages once, without waiting, after their session was deleted. */
  sendOnce(messages: readonly WebhookMessage[]): void {
    for (const { webhook, data } of messages) {
      const { id, userId } = webhook;
      const settled = this.#send({ webhook, data }).then((failure) => {
        this.#attempts.delete(id);
        if (failure !== undefined) this.#params.report(undeliveredError(webhook, failure));
      });
      this.#attempts.set(id, { userId, origin: new URL(webhook.url).origin, settled });
    }
  }

  /** Makes the attempts that are due and waits for them. Never rejects. */
  async deliver(): Promise<void> {
    await this.search();
    while (this.#attempts.size > 0) await Promise.all(Array.from(this.#attempts.values(), ({ settled }) => settled));
  }

  /** Waits a short time for the messages of runs that have just ended. No attempt is started after that. */
  async drain(): Promise<void> {
    await within(this.#params.platform, this.deliver(), DRAIN_MS);
    this.#isStopped = true;
    this.#callOff?.();
  }

  /** Searches again if a search was requested during this one, which may have missed the due webhook. */
  async #searchWhileAsked(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      this.#callOff?.();
      try {
        this.#dueMs = await this.#beginDue();
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed) this.#params.report(error);
        this.#hasFailed = true;
      }
    }
    const { platform, limits } = this.#params;
    if (this.#isStopped || limits.unfinishedRunsEveryMs === 0) return;
    const delayMs = Math.max(0, Math.min(this.#dueMs - platform.now(), limits.unfinishedRunsEveryMs));
    this.#callOff = platform.schedule(delayMs, () => void this.search(), { idle: true });
  }

  /** Starts due attempts, one of each user in turn. Returns the time of the next attempt. */
  async #beginDue(): Promise<number> {
    const nowMs = this.#params.platform.now();
    const endedUsers = this.#endedUsers;
    this.#endedUsers = [];
    let nextMs = Infinity;
    for (const { appName, sessionService } of this.#params.runners) {
      const listed = await sessionService.listRunWebhooks({ appName, limit: MAX_LISTED });
      const isDue = ({ dueMs }: RunWebhook): boolean => dueMs <= nowMs || dueMs > nowMs + MAX_WAIT_MS;
      const due = listed.filter(isDue);
      nextMs = Math.min(nextMs, listed.find((webhook) => !isDue(webhook))?.dueMs ?? Infinity);
      // The list may have no room for these users, if many others have all their messages due.
      const unlisted = due.length < MAX_LISTED ? [] : endedUsers.filter((user) => user.appName === appName);
      for (const userId of new Set(unlisted.map((user) => user.userId))) {
        const ofUser = await sessionService.listRunWebhooks({ appName, userId, limit: MAX_PENDING_OF_USER });
        due.push(...ofUser.filter(isDue));
      }
      const byUser = [...Map.groupBy(due, ({ userId }) => userId).values()];
      for (let turn = 0; byUser.some((webhooks) => webhooks.length > turn); turn++) {
        for (const webhooks of byUser) {
          if (this.#isStopped) return nextMs;
          const webhook = webhooks[turn];
          // Searches for due webhooks again after each attempt.
          if (webhook && this.#mayAttempt(webhook))
            nextMs = Math.min(nextMs, await this.#begin(sessionService, webhook));
        }
      }
    }
    return nextMs;
  }

  /**
   * True if a place for an attempt is free, unless the user, or the receiver if there are several, has as many places
   * as are left: those are for others.
   */
  #mayAttempt({ id, userId, url }: RunWebhook): boolean {
    if (this.#attempts.has(id)) return false;
    const { origin } = new URL(url);
    let ofUser = 0;
    let ofOrigin = 0;
    for (const attempt of this.#attempts.values()) {
      if (attempt.userId === userId) ofUser++;
      if (attempt.origin === origin) ofOrigin++;
    }
    const left = MAX_ATTEMPTS - this.#attempts.size;
    return ofUser < Math.min(MAX_ATTEMPTS_OF_USER, left) && (this.#origins.size === 1 || ofOrigin < left);
  }

  /**
   * Starts an attempt, unless another process has started it or the run has not ended. Returns the time of the next
   * possible attempt.
   */
  async #begin(service: BaseSessionService, webhook: RunWebhook): Promise<number> {
    const { report } = this.#params;
    const { appName, userId, sessionId, id } = webhook;
    const state = await this.#stateOf(service, webhook);
    if (!state) {
      await service.changeRunWebhook(webhook, undefined);
      return Infinity;
    }
    // The run's end in this process, or the next scheduled search, starts the attempt.
    if (isPending(state)) return Infinity;
    const claimed = await this.#claim(service, webhook);
    if (!claimed) return Infinity;
    const attempt = this.#attempt(service, claimed, { appName, userId, sessionId, ...state })
      .catch(report)
      .then(() => {
        this.#attempts.delete(id);
        if (!this.#isStopped) void this.search();
      });
    this.#attempts.set(id, { userId, origin: new URL(webhook.url).origin, settled: attempt });
    return claimed.dueMs;
  }

  /** Stores that an attempt begins here. Returns undefined if another process has stored that before. */
  async #claim(service: BaseSessionService, webhook: RunWebhook): Promise<RunWebhook | undefined> {
    const dueMs = this.#params.platform.now() + CLAIM_MS;
    const claimed = { ...webhook, attempts: webhook.attempts + 1, dueMs };
    return (await service.changeRunWebhook(webhook, claimed)) ? claimed : undefined;
  }

  /** Returns the state of a webhook's run; undefined if its session no longer has the run. */
  async #stateOf(service: BaseSessionService, webhook: RunWebhook): Promise<RunState | undefined> {
    const { appName, userId, sessionId, invocationId } = webhook;
    try {
      return await this.#params.hub.follower.state(service, { appName, userId, sessionId }, invocationId);
    } catch (error) {
      if (RunNotFoundError.isInstance(error) || SessionNotFoundError.isInstance(error)) return undefined;
      throw error;
    }
  }

  /**
   * Makes one attempt, and stores its result.
   *
   * @throws WebhookError if it was the last one, or its session was deleted
   */
  async #attempt(service: BaseSessionService, webhook: RunWebhook, data: SessionKey & RunState): Promise<void> {
    const { attempts } = webhook;
    const failure = await this.#send({ webhook, data });
    const waitMs = RETRY_AFTER_MS[attempts - 1];
    if (failure === undefined || waitMs === undefined) {
      await service.changeRunWebhook(webhook, undefined);
      if (failure === undefined) return;
      throw undeliveredError(webhook, failure);
    }
    const { platform } = this.#params;
    const dueMs = platform.now() + waitMs * (1 + platform.random() / 2);
    if (await service.changeRunWebhook(webhook, { attempts, dueMs })) return;
    // The session was deleted during the attempt: the message is sent once more, like those of `sendOnce`.
    const lastFailure = await this.#send({ webhook, data });
    if (lastFailure !== undefined) throw undeliveredError(webhook, lastFailure);
  }

  /** @returns the reason why the message was not accepted; undefined if it was */
  async #send(message: WebhookMessage): Promise<string | undefined> {
    // The option may have changed since the request was checked.
    if (!this.#origins.has(new URL(message.webhook.url).origin)) return 'its origin is no longer in webhooks.origins';
    return sendWebhook(message, this.#secret, this.#params.platform);
  }
}

function isPending(state: RunState | undefined): boolean {
  return state?.state === 'queued' || state?.state === 'running';
}

function undeliveredError({ url, invocationId }: RunWebhook, failure: string): WebhookError {
  return new WebhookError(
    `the webhook of run ${invocationId} could not be delivered to ${new URL(url).origin}: ${failure}`,
  );
}
