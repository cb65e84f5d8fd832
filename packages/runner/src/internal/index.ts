// Parts of the runner package that other Eventloom packages build on. Not for users: names here change without notice.

export { callsToRespondTo, type CallsToRespondTo, respondTo } from '../last-responses.ts';
