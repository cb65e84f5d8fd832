// Graph agents: nodes and edges, channels, routes, joins, questions to people, and runs that resume at the current node.

// Channels
export type {
  AnyChannel,
  Channel,
  ChannelOptions,
  Channels,
  ChannelUpdates,
  ChannelValues,
  Reducer,
} from './channel.ts';
export { append, channel, replace } from './channel.ts';

// Nodes
export type { GraphNode, NodeFunction, NodeOptions, NodeWork } from './graph-node.ts';
export { node } from './graph-node.ts';

// Graphs
export type { GraphPlan, Router, RouterContext, Way } from './graph-plan.ts';
export type { GraphAgent } from './graph-agent.ts';

// History
export type { ForkParams } from './fork-run.ts';
export type { StateChanges } from './channel-history.ts';
export type { GraphHistory, HistoryQuery, NodeHistory, OpenNode, StepHistory, OpenQuestion } from './graph-history.ts';
export { stateAfter } from './state-after.ts';

// Graphs
export { isGraphAgent } from './is-graph-agent.ts';
export { DEFAULT_ROUTE, END, START } from './names.ts';

// Nodes
export type { NodeContext, RunNodeOptions } from './node-context.ts';
export type { NodeRetryOptions } from './retry.ts';

// Graphs
export type { CompileOptions, StateGraphConfig } from './graph-options.ts';
export type { AnyNodes } from './state-graph.ts';
export { StateGraph } from './state-graph.ts';

// Errors
export { NodeError, NodeTimeoutError, StepLimitError } from './errors.ts';
