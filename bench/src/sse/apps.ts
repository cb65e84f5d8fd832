/** The name of the app that gives one short answer. */
export const TURN = 'turn';
/** The name of the app that answers with 2,000 chunks and then the whole answer. */
export const CHUNKED = 'chunked';
export const CHUNKS = 2000;
