import { answeredRun, findAnsweredRun } from './answered-run.ts';
import { completionEvent } from './completion-event.ts';
import { lacksSomething } from './lacks-something.ts';
import { matchAnswers } from './match-answers.ts';
import { readBack } from './read-back.ts';
import { restoreArtifacts } from './restore-artifacts.ts';
import { closeRun } from './resume/close-run.ts';
import { resumeInvocation } from './resume/resume-invocation.ts';
import { toBeginning } from './resume/run-beginning.ts';
import { rewind } from './rewind.ts';
import { saveInputBlobs } from './save-input-blobs.ts';

/** What few runs need: to go on with earlier ones, to undo them, long histories, compaction, messages with files. Not loaded with the runner. */
export const deferred = {
  answeredRun,
  closeRun,
  completionEvent,
  findAnsweredRun,
  lacksSomething,
  matchAnswers,
  readBack,
  restoreArtifacts,
  resumeInvocation,
  rewind,
  saveInputBlobs,
  toBeginning,
} as const;
