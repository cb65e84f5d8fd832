/** What is told of a call of which nobody knows whether it had its effect. */
export const INTERRUPTED_CALL = {
  error: 'interrupted',
  message: 'The call was cut off while it ran. It may have had its effect or not.',
};
