// Plugins under the names of the ADK.
export * from '@eventloom/plugins';
