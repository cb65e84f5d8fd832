import type { LiveRequest } from '@eventloom/core';

/**
 * Maximum size of the requests that are kept, in characters: a minute and a half of speech. Older audio is not sent
 * again after a reconnect.
 */
const MAX_CHARS = 4 * 1024 * 1024;
/** Characters that are counted for each request in addition to its data. */
const OVERHEAD_CHARS = 64;

/** A request, and the number of sends on its connection before it. */
interface Sent {
  readonly request: LiveRequest;
  at: number;
}

/**
 * The sent requests that the service may not have consumed, in order: they are sent again on the next connection. If the service reports
 * what it consumed, all other requests are repeated. For another service, all requests count as consumed when the model replies, and a
 * handle covers all speech before it. Over the limit only the oldest audio and pictures are dropped.
 */
export class UnconsumedRequests {
  #sent: Sent[] = [];
  /** Sends on this connection. */
  #count = 0;
  #chars = 0;
  #again: LiveRequest[] = [];
  /** Speech that was transcribed after it was sent: the history holds its words. */
  readonly #transcribed = new WeakSet<LiveRequest>();

  /**
   * Starts on a connection that resumes the session: the requests of the previous one come first.
   * @param isActiveInSession whether the client, which signals its activity itself, is speaking in the resumed session
   * @param isActive whether it is speaking now
   */
  resume(isActiveInSession: boolean, isActive: boolean): void {
    this.#startOver(this.#all(), isActiveInSession, isActive);
  }

  /** Starts on a connection with the history, which holds written requests and transcribed speech. */
  begin(isActive: boolean): void {
    const missing = this.#all().filter((request) => isSpoken(request) && !this.#transcribed.has(request));
    this.#startOver(missing, false, isActive);
  }

  /** True when the client, which signals its activity itself, was speaking before the oldest request that is kept. */
  wasActive(isActive: boolean): boolean {
    return wasActiveBefore(this.#all(), isActive);
  }

  /** The oldest request to send again, which stays until `shift`. */
  peek(): LiveRequest | undefined {
    return this.#again[0];
  }

  shift(): void {
    this.#again.shift();
  }

  /** Notes a request that is being sent. */
  add(request: LiveRequest): void {
    this.#sent.push({ request, at: this.#count++ });
    this.#chars += charsOf(request);
    while (this.#chars > MAX_CHARS) {
      const oldest = this.#sent.findIndex((sent) => 'blob' in sent.request);
      if (oldest < 0 || oldest === this.#sent.length - 1) return;
      this.#takeOut(oldest);
    }
  }

  /** Notes a send that is never repeated. */
  skip(): void {
    this.#count++;
  }

  /** Forgets a request that could not be sent. */
  remove(request: LiveRequest): void {
    const index = this.#sent.findLastIndex((sent) => sent.request === request);
    if (index < 0) return;
    this.#takeOut(index);
    this.#count--;
    for (const later of this.#sent.slice(index)) later.at--;
  }

  /** Records a reply of the model, which means that all requests were consumed. */
  replied(): void {
    this.consumed(Infinity);
  }

  /** Notes the end of a turn: written requests get no further reply. Speech may be what ended the turn, and is kept. */
  turnEnded(): void {
    this.#keep(isSpoken);
  }

  /** Notes a handle, which covers all speech so far. */
  handleGiven(): void {
    this.#keep((request) => !isSpoken(request));
  }

  /** Notes that the speech so far was transcribed. */
  speechTranscribed(): void {
    for (const { request } of this.#sent) this.#transcribed.add(request);
  }

  /** Notes that the service consumed this many sends of the connection, from its first. */
  consumed(count: number): void {
    const rest = this.#sent.findIndex(({ at }) => at >= count);
    for (const { request } of this.#sent.splice(0, rest < 0 ? this.#sent.length : rest))
      this.#chars -= charsOf(request);
  }

  #all(): LiveRequest[] {
    return [...this.#sent.map(({ request }) => request), ...this.#again];
  }

  #startOver(kept: LiveRequest[], isActiveInSession: boolean, isActive: boolean): void {
    this.#again = withSigns(kept, isActiveInSession, isActive);
    this.#sent = [];
    this.#count = 0;
    this.#chars = 0;
  }

  #keep(isKept: (request: LiveRequest) => boolean): void {
    this.#sent = this.#sent.filter(({ request }) => isKept(request));
    this.#chars = this.#sent.reduce((sum, { request }) => sum + charsOf(request), 0);
  }

  #takeOut(index: number): void {
    for (const { request } of this.#sent.splice(index, 1)) this.#chars -= charsOf(request);
  }
}

/** True for audio, pictures and activity signals, which are all requests that are not written. */
function isSpoken(request: LiveRequest): boolean {
  return 'blob' in request || isSign(request);
}

function isSign(request: LiveRequest): boolean {
  return 'activityStart' in request || 'activityEnd' in request;
}

/** True when the client was speaking before these requests: they start with an end of activity. */
function wasActiveBefore(requests: readonly LiveRequest[], isActive: boolean): boolean {
  const first = requests.find(isSign);
  return first ? 'activityEnd' in first : isActive;
}

/** Adds or drops activity signals so that they fit the session that the requests are sent to. */
function withSigns(requests: LiveRequest[], isActiveInSession: boolean, isActive: boolean): LiveRequest[] {
  const isActiveBefore = wasActiveBefore(requests, isActive);
  if (isActiveBefore === isActiveInSession) return requests;
  if (!isActiveBefore) return [{ activityEnd: true }, ...requests];
  // Drops the end of speech whose beginning was dropped.
  const first = requests.find(isSpoken);
  if (first && 'activityEnd' in first) return requests.filter((request) => request !== first);
  return [{ activityStart: true }, ...requests];
}

function charsOf(request: LiveRequest): number {
  return OVERHEAD_CHARS + ('blob' in request ? (request.blob.data?.length ?? 0) : 0);
}
