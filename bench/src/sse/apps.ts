/** One short answer. */
export const TURN = 'turn';
/** An answer of 2,000 chunks and then the whole. */
export const CHUNKED = 'chunked';
export const CHUNKS = 2000;
