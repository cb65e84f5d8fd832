/** One of several that commit in turn. */
export class Lane {
  wake: (() => void) | undefined;
}

/**
 * Puts the commits of nodes that run at the same time in an order that does not depend on how fast they are: each commits one event,
 * then it is the turn of the next, and who is waited for is waited for. At most `width` take part at once; the others follow in order, as
 * these leave.
 *
 * Who joins when turns are being taken takes part in the next round, which begins when all of this one have left.
 */
export class Turns {
  readonly #width: number;
  readonly #beforeRound: ((begin: () => void) => void) | undefined;
  /** Those who take turns. */
  readonly #members: Lane[] = [];
  /** Those who do so next, in this round. */
  #waiting: Lane[] = [];
  #nextRound: Lane[] = [];
  #at = 0;
  #isOpen: boolean;

  /** @param beforeRound lets others join before a round begins: calls back when that is to be. Default: who joined first begins at once */
  constructor(width: number, beforeRound?: (begin: () => void) => void) {
    this.#width = width;
    this.#beforeRound = beforeRound;
    this.#isOpen = beforeRound === undefined;
  }

  join(): Lane {
    const lane = new Lane();
    const isFirst = this.#members.length + this.#waiting.length + this.#nextRound.length === 0;
    if (this.#beforeRound) {
      this.#nextRound.push(lane);
      if (isFirst) this.#beforeRound(this.#beginRound);
    } else {
      this.#waiting.push(lane);
      this.#fill();
    }
    return lane;
  }

  /** True when nobody has to be waited for. */
  isNext(lane: Lane): boolean {
    return this.#isOpen && this.#members[this.#at] === lane;
  }

  /** Resolves when it is the lane's turn: until it passes or leaves, nobody else has theirs. */
  async take(lane: Lane): Promise<void> {
    if (!this.isNext(lane)) await new Promise<void>((resolve) => (lane.wake = resolve));
  }

  /** The lane, whose turn it is, committed something. */
  pass(): void {
    this.#at = (this.#at + 1) % this.#members.length;
    this.#wakeNext();
  }

  /** The lane, whose turn it is, is done. */
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
      const lane = this.#waiting.shift();
      if (!lane) return;
      this.#members.push(lane);
    }
  }

  #wakeNext(): void {
    const lane = this.#members[this.#at];
    lane?.wake?.();
    if (lane) lane.wake = undefined;
  }
}
