// Parts of the graph package that other Eventloom packages build on. Not for users: names here change without notice.

export { pause } from '../retry.ts';
export { toMermaid } from '../to-mermaid.ts';
