import type { SessionTask } from './session-task.ts';

/** A place for sessions, as the session workloads use it. */
export interface BackEnd {
  readonly name: string;
  /** Operations that make a round in which one session grows. */
  readonly batch: number;
  /** Appends that make a round in which many sessions grow. */
  readonly burst: number;
  perform(task: SessionTask): Promise<void>;
  /** Bytes that were ever written; absent where nothing is. */
  readonly bytesWritten?: () => Promise<number>;
  close(): Promise<void>;
}
