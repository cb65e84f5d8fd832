import type { Content } from '@eventloom/core';

/** The message that the graphs of the benchmark start with: their functions add to a number. */
export const NUMBER_MESSAGE: Content = { role: 'user', parts: [{ text: '0' }] };
