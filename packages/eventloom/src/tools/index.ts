// Tools under the names of the ADK: those that Google's service runs, and those that run here.
export * from '@eventloom/tools/built-in';
export * from '@eventloom/llm-agent/built-in';
