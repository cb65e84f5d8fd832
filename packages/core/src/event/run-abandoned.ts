/** The `errorCode` of the event that tells of a run that was given up: see `Runner.closeRun`. */
export const RUN_ABANDONED = 'RUN_ABANDONED';
