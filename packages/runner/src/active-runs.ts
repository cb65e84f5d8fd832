import { type OnBusy, StaleWriterError } from '@eventloom/core';
import type { Run } from './run.ts';

/** The runs of this process that are under way, by session. */
export class ActiveRuns extends Map<string, Run> {
  /**
   * Ends the run that has the session, when `onBusy` wants that. From a run of another process only the session is taken.
   * @param by what takes its place, as it is told
   */
  async makeWay(session: string, onBusy: OnBusy | undefined, by: string): Promise<void> {
    if (onBusy !== 'interrupt') return;
    await this.get(session)?.makeWay(new StaleWriterError(`the run was interrupted by ${by} of its session`));
  }
}
