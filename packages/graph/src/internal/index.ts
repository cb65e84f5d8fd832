// Parts of the graph package that other Eventloom packages build on. Not for users: names here change without notice.

export { EventChannel } from '../event-channel.ts';
export { pause } from '../retry.ts';
