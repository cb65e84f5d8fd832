import type { Content } from '@eventloom/core';

/** The message with which the graphs of the benchmark start: the number to which their functions add. */
export const NUMBER_MESSAGE: Content = { role: 'user', parts: [{ text: '0' }] };
