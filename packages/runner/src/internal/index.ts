// Parts of the runner package that other Eventloom packages build on. Not for users: names here change without notice.

export { leftCalls, type LeftCalls, respondTo } from '../left-calls.ts';
