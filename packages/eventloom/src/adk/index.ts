// All names of `@eventloom/adk`, for programs that were written for @google/adk.

export * from '@eventloom/adk';
