import type { Event } from '../event/event.ts';

/** Which run is to be described. */
export interface RunQuery {
  /** The events of a session, in order, or those of one run. */
  readonly events: readonly Event[];
  readonly invocationId: string;
}

/** What an agent that is a graph shows of a run. All of it is JSON. */
export interface RunDescription {
  readonly graph: {
    readonly name: string;
    readonly nodes: readonly { readonly name: string; readonly kind: string }[];
    readonly edges: readonly { readonly from: string; readonly to: string; readonly route?: string }[];
  };
  /** The runs of the graph in this run of the runner, in the order in which they began. */
  readonly runs: readonly object[];
  /** A Mermaid flow chart with the path of the latest run highlighted. */
  readonly mermaid: string;
}
