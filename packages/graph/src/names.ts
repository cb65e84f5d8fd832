/** The beginning of a graph, for its first edges: `addEdge(START, 'first')`. */
export const START = '__start__';
/** The end of a graph: `addEdge('last', END)`. The values that arrive here are the graph's output. */
export const END = '__end__';
/** The route that is taken if the node sets no route, or if the chosen route does not exist. */
export const DEFAULT_ROUTE = '__default__';

/** Returns a name as error messages show it: `START` and `END` as the program writes them, others in quotation marks. */
export function quoted(name: string, mark = '"'): string {
  return name === START ? 'START' : name === END ? 'END' : mark + name + mark;
}
