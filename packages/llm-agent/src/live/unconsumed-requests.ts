import type { LiveRequest } from '@eventloom/core';

/** What is kept, in characters: a minute and a half of speech. A service that tells later than that is told the rest again in vain. */
const MAX_CHARS = 4 * 1024 * 1024;
/** What a request counts for beside what it says. */
const OVERHEAD_CHARS = 64;

/**
 * What a connection was sent and the service is not known to have consumed, in order: it is sent again to whoever goes on with the newest
 * handle. A service that tells what it consumed is sent again all of the rest. Of another it is taken that it consumed all when the model
 * says something; before that, it is sent again what was written, while speech that is lost is too old to be of use.
 */
export class UnconsumedRequests {
  /** Sends on this connection; undefined for one that is not to be sent again. */
  #sent: (LiveRequest | undefined)[] = [];
  /** How many sends there were before those. */
  #before = 0;
  #chars = 0;
  #again: LiveRequest[] = [];

  /** Another connection goes on: what the one before was sent comes first. */
  reconnect(): void {
    this.#again = [...this.#sent.filter((request) => request !== undefined), ...this.#again];
    this.#sent = [];
    this.#before = 0;
    this.#chars = 0;
  }

  /** Nothing is sent again: what was said is told otherwise. */
  clear(): void {
    this.#sent = [];
    this.#again = [];
    this.#before = 0;
    this.#chars = 0;
  }

  /** The oldest that is to be sent again, which stays until `shift`. */
  peek(): LiveRequest | undefined {
    return this.#again[0];
  }

  shift(): void {
    this.#again.shift();
  }

  /** Notes a send, when it is made. */
  add(request: LiveRequest | undefined): void {
    this.#sent.push(request);
    this.#chars += charsOf(request);
    while (this.#chars > MAX_CHARS && this.#sent.length > 1) this.#drop();
  }

  /** Takes back the note of a send that was not made. */
  remove(request: LiveRequest): void {
    const at = this.#sent.lastIndexOf(request);
    if (at < 0) return;
    this.#sent.splice(at, 1);
    this.#chars -= charsOf(request);
  }

  /** The model said something: it consumed what it was sent. */
  answered(): void {
    this.consumed(Infinity);
  }

  /** The service consumed so many sends on this connection, from its first. */
  consumed(count: number): void {
    while (this.#before < count && this.#sent.length > 0) this.#drop();
  }

  #drop(): void {
    this.#chars -= charsOf(this.#sent.shift());
    this.#before++;
  }
}

function charsOf(request: LiveRequest | undefined): number {
  return OVERHEAD_CHARS + (request && 'blob' in request ? (request.blob.data?.length ?? 0) : 0);
}
