const STATUSES = {
  INACTIVE: 0,
  PENDING: 1,
  RUNNING: 2,
  COMPLETED: 3,
  WAITING: 4,
  FAILED: 5,
  CANCELLED: 6,
} as const;

/** Status of a node in a run of its workflow, and the names of the statuses: `NodeStatus[0]` is `INACTIVE`. */
export const NodeStatus = {
  ...STATUSES,
  0: 'INACTIVE',
  1: 'PENDING',
  2: 'RUNNING',
  3: 'COMPLETED',
  4: 'WAITING',
  5: 'FAILED',
  6: 'CANCELLED',
} as const;
export type NodeStatus = (typeof STATUSES)[keyof typeof STATUSES];

/** State of a node in a run of its workflow. */
export interface NodeState {
  status: NodeStatus;
  input?: unknown;
  /** Number of the attempt, from 1. */
  attemptCount: number;
  /** Ids of questions without an answer. */
  interrupts: string[];
  /** Answers by the id of the question. */
  resumeInputs: Record<string, unknown>;
  /** Number of the node's runs. */
  runCounter: number;
  runId?: string;
  parentRunId?: string;
}

/** Creates the state of a node that did not run. */
export function createNodeState(partial: Partial<NodeState> = {}): NodeState {
  return { status: NodeStatus.INACTIVE, attemptCount: 1, interrupts: [], resumeInputs: {}, runCounter: 0, ...partial };
}

/** Returns true for a value with the shape of a `NodeState`. */
export function isNodeState(value: unknown): value is NodeState {
  if (typeof value !== 'object' || value === null) return false;
  const { status, attemptCount, interrupts } = value as Partial<NodeState>;
  return typeof status === 'number' && attemptCount !== undefined && Array.isArray(interrupts);
}
