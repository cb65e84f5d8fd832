/** The tool by which an agent of a sequence says in a live run that its part is done, so that the next one goes on. */
export const TASK_COMPLETED = 'task_completed';
