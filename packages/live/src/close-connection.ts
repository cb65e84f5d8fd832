import { type BaseLlmConnection, type InvocationContext, toError } from '@eventloom/core';

/** Closes a connection that nothing more is wanted of. That it cannot be closed is the platform's to report, and nobody else's concern. */
export async function closeConnection(
  { platform }: InvocationContext,
  connection: BaseLlmConnection | undefined,
): Promise<void> {
  try {
    await connection?.close();
  } catch (error) {
    platform.background(Promise.reject(toError(error)));
  }
}
