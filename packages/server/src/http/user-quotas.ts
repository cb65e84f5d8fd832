import type { Platform } from '@eventloom/core';
import { ServerBusyError, UserLimitError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';

/** Limits of the concurrent work of requests, of one user and of all users together. */
type QuotaLimits = Pick<
  ServerLimits,
  | 'maxBodyBytes'
  | 'maxRuns'
  | 'maxRunsPerUser'
  | 'maxQueuedRequests'
  | 'maxQueuedRequestsPerUser'
  | 'maxBodyBytesInFlight'
  | 'maxBodyBytesInFlightPerUser'
  | 'maxResponseChars'
  | 'maxResponseCharsPerUser'
>;

/**
 * Counters of concurrent work. `RunHub` counts all active runs (`maxRuns`), including those that the server resumed by
 * itself.
 */
interface Usage {
  runs: number;
  queued: number;
  bodyBytes: number;
  /** Characters of responses that clients have not read yet: see `LargeResponses`. */
  responseChars: number;
  /** Connections that will read runs, counted before the runs are started: see `RunReaders.checkUser`. */
  reservedReaders: number;
}

/** The counters that `UserQuotas` itself limits. */
type Limited = Exclude<keyof Usage, 'reservedReaders'>;

const NOTHING: Readonly<Usage> = { runs: 0, queued: 0, bodyBytes: 0, responseChars: 0, reservedReaders: 0 };

/**
 * The limits of each counter. In the shared part of the total, which is taken last, a user who has as much as is still
 * free gets no more while others use the server: `n` users who take all they can leave one part of `n + 1` to the
 * others. Only an eighth of the bytes is shared so, because a large body needs most of a small limit.
 */
const BOUNDS = {
  runs: { what: 'runs in flight', total: 'maxRuns', perUser: 'maxRunsPerUser', sharedPart: 1 },
  queued: {
    what: 'requests that wait for a session',
    total: 'maxQueuedRequests',
    perUser: 'maxQueuedRequestsPerUser',
    sharedPart: 1,
  },
  bodyBytes: {
    what: 'bytes of request bodies in flight',
    total: 'maxBodyBytesInFlight',
    perUser: 'maxBodyBytesInFlightPerUser',
    sharedPart: 1 / 8,
  },
  responseChars: {
    what: 'characters of answers that clients have not read',
    total: 'maxResponseChars',
    perUser: 'maxResponseCharsPerUser',
    sharedPart: 1,
  },
} as const satisfies Record<Limited, unknown>;
/** Maximum number of bytes of one body of an unknown user in the shared part. */
const SMALL_BODY = 64 * 1024;

/**
 * Counts the active work of a server's requests, by user and in total, and enforces the limits, so that one user cannot take the capacity
 * of the others.
 */
export class UserQuotas {
  readonly limits: QuotaLimits;
  /** Maximum size of one body, in bytes. */
  readonly maxBodyBytes: number;
  readonly total: Usage = { ...NOTHING };
  readonly users: Map<string, Usage> = new Map();
  /** The places of the requests that are worked on; undefined if any number of them may be. */
  readonly places: UserPlaces | undefined;

  /** @param platform undefined lets any number of requests be worked on. Default: undefined */
  constructor(limits: QuotaLimits, platform?: Pick<Platform, 'now' | 'schedule'>) {
    this.limits = limits;
    this.places = platform && new UserPlaces(platform);
    this.maxBodyBytes = Math.min(limits.maxBodyBytes, limits.maxBodyBytesInFlight, limits.maxBodyBytesInFlightPerUser);
  }

  /**
   * Checks that the limits have room for an amount, without counting it.
   *
   * @param used the counts of an anonymous request, for an undefined `userId`
   * @throws UserLimitError
   * @throws ServerBusyError
   */
  check(kind: Limited, amount: number, userId: string | undefined, used: Readonly<Usage> = NOTHING): void {
    const { limits, total, users } = this;
    const bound = BOUNDS[kind];
    const isKnown = userId !== undefined;
    const has = (isKnown ? (users.get(userId) ?? NOTHING) : used)[kind];
    if (isKnown && has + amount > limits[bound.perUser]) {
      throw new UserLimitError(
        `the user may have ${limits[bound.perUser]} ${bound.what} (limits.${bound.perUser} of this server), and has ${has}; ` +
          `try again when one of the user's requests has been answered`,
      );
    }
    const free = limits[bound.total] - total[kind];
    if (amount > free) {
      throw new ServerBusyError(
        `the server has its maximum number of ${bound.what} (limits.${bound.total}); try again later`,
      );
    }
    const isSharedPart = free - amount < limits[bound.total] * bound.sharedPart;
    if (isSharedPart && total[kind] > has && has + amount > (isKnown ? free : SMALL_BODY)) {
      const room = `the server has room for ${free} more ${bound.what} (limits.${bound.total})`;
      if (!isKnown) throw new ServerBusyError(`${room}, which it keeps for small bodies; try again later`);
      throw new UserLimitError(
        `${room}, which it keeps for other users, because the user has ${has}; ` +
          `try again when one of the user's requests has been answered`,
      );
    }
  }
}

/** Maximum number of requests of one user that are worked on at the same time. */
const MAX_PLACES = 8;
/** Maximum number of requests of one user that wait for a place. Each keeps its connection, and the unread beginning of its body. */
const MAX_WAITING = 1000;
/** Time between two requests of a user that begin without a place: a thousand that have waited for long must not begin together. */
const LATE_INTERVAL_MS = 50;
/** Number of these intervals after which a request may begin without a place: those with a place may wait for it to cancel a run. */
const LATE_INTERVALS = 20;

/** Time after which a place that was given back is passed on although the timer for that did not fire. */
const MAX_PASS_ON_MS = 1000;

/** The places of one user. */
interface PlacesOfUser {
  taken: number;
  /**
   * Give a place to the requests that wait for one, in the order in which they came, with the interval in which they came; undefined before
   * the first. Intervals are counted, because a clock may be set back.
   */
  waiting: Map<() => void, number> | undefined;
  /** Number of intervals for which requests have waited. */
  interval: number;
  /** Cancels the timer of the current interval; undefined if no request waits. */
  cancelTimer: (() => void) | undefined;
}

/**
 * The places of the requests that are worked on: each user has `MAX_PLACES`. Without places, each step of another
 * user's request would wait for a step of every request of a user who sends a thousand of them at a time, in this
 * process and at the connections of its database.
 */
class UserPlaces {
  /** The users whose requests have places. */
  readonly users: Map<string, PlacesOfUser> = new Map();
  readonly #timers: Pick<Platform, 'now' | 'schedule'>;
  /** The users of places that were given back since other work ran, and the time of the first. */
  readonly #returned: string[] = [];
  #returnedMs = 0;

  constructor(timers: Pick<Platform, 'now' | 'schedule'>) {
    this.#timers = timers;
  }

  /**
   * Takes a place of a user. Resolves when the request has it; undefined if it has it at once. A request that is aborted
   * leaves the line with a place, which it gives back like any other one.
   *
   * @throws UserLimitError if too many requests of the user wait
   */
  take(userId: string, request: Pick<Request, 'signal'>): Promise<void> | undefined {
    // A Worker drops the timers of a request that it has answered.
    if (this.#returned.length > 0 && this.#timers.now() - this.#returnedMs > MAX_PASS_ON_MS) this.#passOn();
    const own: PlacesOfUser = this.users.get(userId) ?? {
      taken: 0,
      waiting: undefined,
      interval: 0,
      cancelTimer: undefined,
    };
    this.users.set(userId, own);
    if (own.taken >= MAX_PLACES) return this.#wait(own, request.signal);
    own.taken++;
    return undefined;
  }

  /** Gives a place back. The next request gets it after other work, because a store in the same process answers without a pause. */
  giveBack(userId: string): void {
    if (this.#returned.push(userId) > 1) return;
    this.#returnedMs = this.#timers.now();
    this.#timers.schedule(0, this.#passOn);
  }

  #wait(own: PlacesOfUser, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = (own.waiting ??= new Map());
    if (waiting.size >= MAX_WAITING) {
      throw new UserLimitError(
        `${MAX_WAITING} requests of the user wait for their turn, which is the maximum; try again when one of them has been answered`,
      );
    }
    const begin = (): void => {
      signal.removeEventListener('abort', begin);
      waiting.delete(begin);
      if (waiting.size === 0) {
        own.cancelTimer?.();
        own.cancelTimer = undefined;
      }
      own.taken++;
      resolve();
    };
    // The rest of an interval that has begun is not counted.
    waiting.set(begin, own.cancelTimer ? own.interval + 1 : own.interval);
    signal.addEventListener('abort', begin);
    own.cancelTimer ??= this.#timers.schedule(LATE_INTERVAL_MS, () => this.#endInterval(own));
    if (signal.aborted) begin();
    return promise;
  }

  /**
   * Begins a request that has waited for long without a place: the newest of them. The clients of older ones have most likely left. A
   * server cannot always notice that: a Durable Object never does, and Node only when it reads the body.
   */
  #endInterval(own: PlacesOfUser): void {
    own.interval++;
    own.cancelTimer = this.#timers.schedule(LATE_INTERVAL_MS, () => this.#endInterval(own));
    let late: (() => void) | undefined;
    for (const [begin, since] of own.waiting ?? []) {
      if (own.interval - since < LATE_INTERVALS) break;
      late = begin;
    }
    late?.();
  }

  readonly #passOn = (): void => {
    for (const userId of this.#returned.splice(0)) {
      const own = this.users.get(userId);
      if (!own) continue;
      own.taken--;
      const [next] = own.waiting?.keys() ?? [];
      if (next && own.taken < MAX_PLACES) next();
      if (own.taken === 0) this.users.delete(userId);
    }
  };
}

const KINDS = ['runs', 'queued', 'bodyBytes', 'responseChars', 'reservedReaders'] as const;

/**
 * Counts the body, the waits for a session and the runs of one request for its user. A run is counted until it has ended; everything else
 * until the request is answered and its runs have ended, because a run keeps the message in memory.
 */
export class RequestQuota {
  readonly #quotas: UserQuotas;
  /** The user of the request; undefined for an anonymous request, until `chargeTo`. */
  userId: string | undefined;
  readonly used: Usage = { ...NOTHING };
  /**
   * Number of calls of `release` to come: one for the request, one for each of its runs, and one for a response that is still sent. The
   * last call releases the amounts.
   */
  holds = 1;
  /** Resolves when the request may be worked on, or was aborted; undefined if it may be at once. */
  readonly place: Promise<void> | undefined;
  /** Undefined for a request that needs no place, or has given it back. */
  #places: UserPlaces | undefined;

  /** @param waiting a request that is worked on only when it has a place among those of its user. Default: needs none */
  constructor(quotas: UserQuotas, userId: string | undefined, waiting?: Pick<Request, 'signal'>) {
    this.#quotas = quotas;
    this.userId = userId;
    if (!waiting || userId === undefined) return;
    this.#places = quotas.places;
    this.place = this.#places?.take(userId, waiting);
  }

  /**
   * Counts bytes of the request's body as they arrive, its run, or its wait for a session; a negative amount subtracts.
   * Until the user of the request is known, only the totals count.
   *
   * @param isLimited false for an amount that is counted also if it exceeds the limits. Default true
   * @throws UserLimitError
   * @throws ServerBusyError if the limits are exceeded; nothing is counted then
   */
  count(kind: keyof Usage, amount: number, isLimited: boolean = amount > 0): void {
    const { total, users } = this.#quotas;
    const userId = this.userId;
    if (isLimited && kind !== 'reservedReaders') this.#quotas.check(kind, amount, userId, this.used);
    this.used[kind] += amount;
    total[kind] += amount;
    if (userId === undefined) return;
    if (kind === 'queued' && amount < 0) {
      // A run that has its session is no longer counted among the requests that are worked on.
      this.#places?.giveBack(userId);
      this.#places = undefined;
    }
    const own = users.get(userId) ?? { ...NOTHING };
    own[kind] += amount;
    if (own.runs + own.queued + own.bodyBytes + own.responseChars + own.reservedReaders === 0) users.delete(userId);
    else users.set(userId, own);
  }

  /**
   * Counts the characters of a response that its client has not read yet. A response larger than the limits counts as
   * much as they allow, so it is possible if the user has no other one.
   *
   * @param isLimited as in `count`
   * @throws UserLimitError
   * @throws ServerBusyError
   */
  countResponse(chars: number, isLimited = true): void {
    const { maxResponseChars, maxResponseCharsPerUser } = this.#quotas.limits;
    this.count('responseChars', Math.min(chars, maxResponseCharsPerUser, maxResponseChars), isLimited);
  }

  /**
   * Sets the user of an anonymous request, which is known once its body is read, and charges the body to this user.
   *
   * @throws UserLimitError
   * @throws ServerBusyError
   */
  chargeTo(userId: string): void {
    if (this.userId !== undefined) return;
    const { bodyBytes } = this.used;
    this.count('bodyBytes', -bodyBytes);
    this.userId = userId;
    this.count('bodyBytes', bodyBytes);
  }

  /** Releases the amounts, if nothing else holds them. */
  release(): void {
    if (this.userId !== undefined) this.#places?.giveBack(this.userId);
    this.#places = undefined;
    this.holds--;
    if (this.holds > 0) return;
    for (const kind of KINDS) this.count(kind, -this.used[kind]);
  }
}

/** True for the error of a limit that `RequestQuota` or `UserQuotas` found exceeded. */
export function isOverLimit(error: unknown): boolean {
  return UserLimitError.isInstance(error) || ServerBusyError.isInstance(error);
}
