const FIRST_SLOTS = 64;

/**
 * The indexes of events by id: a hash table of numbers, half full at most. A Map of the same keeps texts all over the heap, and a
 * look-up in a large one waits for several of them.
 */
export class EventIds {
  readonly #idAt: (index: number) => string | undefined;
  /** Nobody outside knows which ids would meet in one slot. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32);
  #hashes = new Int32Array(FIRST_SLOTS);
  /** Indexes plus 1; 0 in a slot that is free. */
  #places = new Int32Array(FIRST_SLOTS);
  #size = 0;

  /** `idAt` gives the id of the event at an index. */
  constructor(idAt: (index: number) => string | undefined) {
    this.#idAt = idAt;
  }

  /** The index of the event of this id. When there is none, that is `index` from now on. */
  claim(id: string, index: number): number {
    const hash = hashOf(id, this.#seed);
    const mask = this.#places.length - 1;
    let slot = hash & mask;
    for (let place = this.#places[slot]; place; place = this.#places[slot]) {
      if (this.#hashes[slot] === hash && this.#idAt(place - 1) === id) return place - 1;
      slot = (slot + 1) & mask;
    }
    this.#hashes[slot] = hash;
    this.#places[slot] = index + 1;
    if (++this.#size * 2 > this.#places.length) this.#grow();
    return index;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const places = this.#places;
    const slots = places.length * 2;
    this.#hashes = new Int32Array(slots);
    this.#places = new Int32Array(slots);
    for (let from = 0; from < places.length; from++) {
      const place = places[from] ?? 0;
      if (place === 0) continue;
      const hash = hashes[from] ?? 0;
      let slot = hash & (slots - 1);
      while (this.#places[slot]) slot = (slot + 1) & (slots - 1);
      this.#hashes[slot] = hash;
      this.#places[slot] = place;
    }
  }
}

/** FNV-1a over UTF-16 units, with its upper bits brought down. */
function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
