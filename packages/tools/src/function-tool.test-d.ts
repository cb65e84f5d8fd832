import type { ToolContext } from '@eventloom/core';
import { expectTypeOf } from 'vitest';
import * as z from 'zod';
import { FunctionTool, type ToolExecuteFunction, LongRunningFunctionTool } from './function-tool.ts';

// The function's arguments have the type that the schema gives, defaults filled in.
new FunctionTool({
  name: 'f',
  description: '',
  parameters: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: (args, toolContext) => {
    expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>();
    expectTypeOf(toolContext).toEqualTypeOf<ToolContext>();
  },
});

// JSON Schema says nothing to TypeScript.
new LongRunningFunctionTool({
  name: 'f',
  description: '',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  execute: (args) => {
    expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
  },
});

new FunctionTool({
  name: 'f',
  description: '',
  execute: (args) => {
    expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
  },
});

// Who decides whether a person is asked sees the same arguments; a generator is a function like any other.
new FunctionTool({
  name: 'f',
  description: '',
  parameters: z.object({ city: z.string() }),
  requireConfirmation: (args, toolContext) => {
    expectTypeOf(args).toEqualTypeOf<{ city: string }>();
    expectTypeOf(toolContext).toEqualTypeOf<ToolContext>();
    return args.city !== 'Paris';
  },
  execute: async function* ({ city }) {
    expectTypeOf(city).toEqualTypeOf<string>();
    yield city;
  },
});

// The function has to take what the schema gives.
const onNumber = (args: { a: number }) => args;
// @ts-expect-error: a is a string
expectTypeOf(onNumber).toExtend<ToolExecuteFunction<z.ZodObject<{ a: z.ZodString }>>>();
