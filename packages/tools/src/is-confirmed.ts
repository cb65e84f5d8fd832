import type { ToolContext } from '@eventloom/core';

/** What a tool's `requireConfirmation` may be: a function is asked with checked arguments, before each run of the tool. */
export type ConfirmationRule<A> = boolean | ((args: A, toolContext: ToolContext) => boolean | Promise<boolean>);

/** True when a call may run now: nobody has to confirm it, or somebody did. Otherwise a person is asked, and the call waits. */
export async function isConfirmed<A>(
  rule: ConfirmationRule<A>,
  args: A,
  toolContext: ToolContext,
  toolName: string,
): Promise<boolean> {
  if (rule === false || toolContext.toolConfirmation?.confirmed === true) return true;
  if (typeof rule === 'function' && !(await rule(args, toolContext))) return true;
  toolContext.requestConfirmation({ hint: `Please approve or reject the call of ${toolName}.` });
  return false;
}
