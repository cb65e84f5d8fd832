/** The begin of a graph: the source of the first edges. */
export const START = '__start__';
/** The end of a graph: values that arrive here are its output. */
export const END = '__end__';
/** The route of a node, or the answer of a router, that no other route of the node has. */
export const DEFAULT_ROUTE = '__default__';
