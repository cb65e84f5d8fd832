import type { LiveRequest } from '@eventloom/core';

/** What is kept, in characters: a minute and a half of speech. Older audio is not sent again after a reconnect. */
const MAX_CHARS = 4 * 1024 * 1024;
/** What a request counts for beside what it says. */
const OVERHEAD_CHARS = 64;

/** A request, and how many sends on its connection came before it. */
interface Sent {
  readonly request: LiveRequest;
  at: number;
}

/**
 * What a connection was sent and the service is not known to have consumed, in order: the next connection is sent it again. A service that
 * tells what it consumed is sent again all of the rest. Of another it is taken that it consumed all when the model says something, and that
 * a handle stands for all that was spoken before it. When there is too much, the oldest audio and pictures go first, and nothing else does.
 */
export class UnconsumedRequests {
  #sent: Sent[] = [];
  /** Sends on this connection. */
  #count = 0;
  #chars = 0;
  #again: LiveRequest[] = [];
  /** What was spoken before words of it were heard: a history has these. */
  readonly #told = new WeakSet<LiveRequest>();

  /**
   * Another connection goes on with the session: what the one before was sent comes first.
   * @param isActiveInSession whether the client, who says so itself, speaks in the session as it is taken up
   * @param isActive whether it speaks now
   */
  resume(isActiveInSession: boolean, isActive: boolean): void {
    this.#startOver(this.#all(), isActiveInSession, isActive);
  }

  /** Another connection is told a history, which has what was written and what is known of what was said. */
  begin(isActive: boolean): void {
    const untold = this.#all().filter((request) => isSpoken(request) && !this.#told.has(request));
    this.#startOver(untold, false, isActive);
  }

  /** True when the client, who says so itself, spoke before the oldest that is kept. */
  wasActive(isActive: boolean): boolean {
    return wasActiveBefore(this.#all(), isActive);
  }

  /** The oldest that is to be sent again, which stays until `shift`. */
  peek(): LiveRequest | undefined {
    return this.#again[0];
  }

  shift(): void {
    this.#again.shift();
  }

  /** Notes a send, when it is made. */
  add(request: LiveRequest): void {
    this.#sent.push({ request, at: this.#count++ });
    this.#chars += charsOf(request);
    while (this.#chars > MAX_CHARS) {
      const oldest = this.#sent.findIndex((sent) => 'blob' in sent.request);
      if (oldest < 0 || oldest === this.#sent.length - 1) return;
      this.#takeOut(oldest);
    }
  }

  /** Notes a send that is never made again. */
  skip(): void {
    this.#count++;
  }

  /** Takes back the note of a send that was not made. */
  remove(request: LiveRequest): void {
    const index = this.#sent.findLastIndex((sent) => sent.request === request);
    if (index < 0) return;
    this.#takeOut(index);
    this.#count--;
    for (const later of this.#sent.slice(index)) later.at--;
  }

  /** The model said something: it consumed what it was sent. */
  answered(): void {
    this.consumed(Infinity);
  }

  /** A turn ended: what was written is not answered any more. What was spoken may be what ended it. */
  turnEnded(): void {
    this.#keep(isSpoken);
  }

  /** The service gave a handle for what was spoken so far. */
  spokenIsKept(): void {
    this.#keep((request) => !isSpoken(request));
  }

  /** Words were heard of what was spoken so far. */
  spokenIsTold(): void {
    for (const { request } of this.#sent) this.#told.add(request);
  }

  /** The service consumed so many sends on this connection, from its first. */
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

/** True for what is not written: audio, pictures, and signs of when the client speaks. */
function isSpoken(request: LiveRequest): boolean {
  return 'blob' in request || isSign(request);
}

function isSign(request: LiveRequest): boolean {
  return 'activityStart' in request || 'activityEnd' in request;
}

/** What begins with an end was begun before. */
function wasActiveBefore(requests: readonly LiveRequest[], isActive: boolean): boolean {
  const first = requests.find(isSign);
  return first ? 'activityEnd' in first : isActive;
}

/** What is sent to a session in which the client speaks or does not, so that it speaks there when it did. */
function withSigns(requests: LiveRequest[], isActiveInSession: boolean, isActive: boolean): LiveRequest[] {
  const isActiveBefore = wasActiveBefore(requests, isActive);
  if (isActiveBefore === isActiveInSession) return requests;
  if (!isActiveBefore) return [{ activityEnd: true }, ...requests];
  // An end of which the speech is no more ends nothing.
  const first = requests.find(isSpoken);
  if (first && 'activityEnd' in first) return requests.filter((request) => request !== first);
  return [{ activityStart: true }, ...requests];
}

function charsOf(request: LiveRequest): number {
  return OVERHEAD_CHARS + ('blob' in request ? (request.blob.data?.length ?? 0) : 0);
}
