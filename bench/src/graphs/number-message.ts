import type { Content } from '@eventloom/core';

/** What the graphs of the benchmark begin with: their functions add to a number. */
export const NUMBER_MESSAGE: Content = { role: 'user', parts: [{ text: '0' }] };
