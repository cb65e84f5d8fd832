import type { FunctionCall } from '../content/content.ts';
import type { ToolConfirmation } from '../event/event-actions.ts';
import { REQUEST_CONFIRMATION, REQUEST_CREDENTIAL } from '../tool/tool-request.ts';

type Response = Readonly<Record<string, unknown>> | undefined;

/** What a person confirmed when asked by this call; undefined when they did not, or were asked for something else. */
export function confirmationOf({ name, args }: FunctionCall, response: Response): ToolConfirmation | undefined {
  if (name !== REQUEST_CONFIRMATION || response?.['confirmed'] !== true) return undefined;
  const told = args?.['toolConfirmation'] as ToolConfirmation | undefined;
  const { payload } = response;
  return { hint: told?.hint ?? '', confirmed: true, ...(payload === undefined ? {} : { payload }) };
}

/**
 * What is answered for a tool instead of its being run, by what a person answered to this call, which is about it: that they refused,
 * or answered too late. Undefined when it is to be run, and without an answer.
 */
export function refusalOf({ name }: FunctionCall, response: Response): { error: string } | undefined {
  if (!response) return undefined;
  if (response['expired'] === true) return { error: 'This tool call was not run: it was answered too late.' };
  if (name === REQUEST_CONFIRMATION)
    return response['confirmed'] === true ? undefined : { error: 'This tool call is rejected.' };
  if (name !== REQUEST_CREDENTIAL || response['provided'] === true) return undefined;
  return { error: 'This tool call was not run: no credential was given.' };
}
