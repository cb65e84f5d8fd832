// Programs that were written for @google/adk import everything from here.
export * from '@eventloom/adk';
