// Runs agents: locks the session, commits each event before the agent continues, and yields it.

export { findLooseEnds } from './find-loose-ends.ts';
export { Runner } from './runner.ts';
export { RUN_ABANDONED } from '@eventloom/core';
export type { LooseEnd } from './find-loose-ends.ts';
export type { CancelRunParams, CloseRunParams } from './stored-runs/close-run.ts';
export type { RunStream } from './run-stream.ts';
export type { RewindParams } from './rewind.ts';
export type { IfKnown, RunAsyncParams } from './run-request.ts';
export type { RunnerConfig } from './runner-config.ts';
