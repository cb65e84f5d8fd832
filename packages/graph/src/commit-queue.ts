/** A member of a CommitQueue. */
export class QueueMember {
  wake: (() => void) | undefined;
}

/**
 * Orders the commits of concurrent nodes independently of their speed. Members take turns to commit one event each; the queue waits for a
 * member that is not ready. At most `width` members take part at a time; others join in order as these leave.
 *
 * A member that joins during a round takes part in the next one, which begins when all members of this round have left.
 */
export class CommitQueue {
  readonly #width: number;
  readonly #beforeRound: ((begin: () => void) => void) | undefined;
  /** The members that take part at the moment. */
  readonly #members: QueueMember[] = [];
  /** The members that take part later in this round. */
  #waiting: QueueMember[] = [];
  #nextRound: QueueMember[] = [];
  #at = 0;
  #isOpen: boolean;

  /** @param beforeRound delays a round so that more members can join; it must call `begin`. Default: the first member begins immediately */
  constructor(width: number, beforeRound?: (begin: () => void) => void) {
    this.#width = width;
    this.#beforeRound = beforeRound;
    this.#isOpen = beforeRound === undefined;
  }

  join(): QueueMember {
    const member = new QueueMember();
    const isFirst = this.#members.length + this.#waiting.length + this.#nextRound.length === 0;
    if (this.#beforeRound) {
      this.#nextRound.push(member);
      if (isFirst) this.#beforeRound(this.#beginRound);
    } else {
      this.#waiting.push(member);
      this.#fill();
    }
    return member;
  }

  /** Returns true if it is the member's turn. */
  isNext(member: QueueMember): boolean {
    return this.#isOpen && this.#members[this.#at] === member;
  }

  /** Waits for the member's turn, which lasts until `pass` or `leave`. */
  async take(member: QueueMember): Promise<void> {
    if (!this.isNext(member)) await new Promise<void>((resolve) => (member.wake = resolve));
  }

  /** Ends the current turn after a commit. */
  pass(): void {
    this.#at = (this.#at + 1) % this.#members.length;
    this.#wakeNext();
  }

  /** Removes the member whose turn it is. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next) {
      this.#members[this.#at] = next;
      this.pass();
      return;
    }
    this.#members.splice(this.#at, 1);
    if (this.#at >= this.#members.length) this.#at = 0;
    if (this.#members.length > 0) {
      this.#wakeNext();
    } else if (this.#beforeRound) {
      this.#isOpen = false;
      if (this.#nextRound.length > 0) this.#beforeRound(this.#beginRound);
    }
  }

  readonly #beginRound = (): void => {
    this.#waiting = this.#nextRound;
    this.#nextRound = [];
    this.#at = 0;
    this.#isOpen = true;
    this.#fill();
    this.#wakeNext();
  };

  #fill(): void {
    while (this.#members.length < this.#width) {
      const member = this.#waiting.shift();
      if (!member) return;
      this.#members.push(member);
    }
  }

  #wakeNext(): void {
    const member = this.#members[this.#at];
    member?.wake?.();
    if (member) member.wake = undefined;
  }
}
