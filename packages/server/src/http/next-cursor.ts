/** Where the answer to a list says how to ask for the rest. */
export const NEXT_CURSOR = 'Eventloom-Next-Cursor';
