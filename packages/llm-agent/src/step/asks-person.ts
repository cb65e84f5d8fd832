import type { EventActions } from '@eventloom/core';

/** True when a person is asked something before a call goes on. */
export function asksPerson({
  requestedAuthConfigs,
  requestedToolConfirmations,
  requestedInputs,
}: EventActions): boolean {
  return (
    requestedAuthConfigs !== undefined || requestedToolConfirmations !== undefined || requestedInputs !== undefined
  );
}
