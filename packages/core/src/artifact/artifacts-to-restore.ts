/**
 * The state key under which a rewind leaves what is still to be done to the session's artifacts. It is written with the event of the
 * rewind and removed when all is done, so that whoever takes the session next sees it, whatever they read of its events.
 */
export const ARTIFACTS_TO_RESTORE = 'eventloom.artifactsToRestore';
