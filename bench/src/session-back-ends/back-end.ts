import type { SessionTask } from './session-task.ts';

/** A storage of sessions that the session workloads use. */
export interface BackEnd {
  readonly name: string;
  /** Number of operations in a round in which one session grows. */
  readonly batch: number;
  /** Number of appends in a round in which many sessions grow. */
  readonly burst: number;
  perform(task: SessionTask): Promise<void>;
  /** Returns the bytes written so far; absent if nothing is written. */
  readonly bytesWritten?: () => Promise<number>;
  close(): Promise<void>;
}
