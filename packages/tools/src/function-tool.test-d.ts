import type { ToolContext } from '@eventloom/core';
import { type Schema, Type } from '@google/genai';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { expectTypeOf } from 'vitest';
import * as z from 'zod';
import * as mini from 'zod/mini';
import * as z3 from 'zod/v3';
import * as old from 'zod3';
import {
  FunctionTool,
  LongRunningFunctionTool,
  type ToolExecuteArgument,
  type ToolExecuteFunction,
  type ToolInputParameters,
} from './function-tool.ts';

// The function's arguments have the output type of the schema, with defaults.
new FunctionTool({
  name: 'f',
  description: '',
  parameters: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: (args, toolContext) => {
    expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>();
    expectTypeOf(toolContext).toEqualTypeOf<ToolContext>();
  },
});

// JSON Schema has no type for TypeScript.
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

// `requireConfirmation` gets the same arguments as `execute`; `execute` may be a generator function.
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

// The function must accept the output of the schema.
const onNumber = (args: { a: number }) => args;
// @ts-expect-error: a is a string
expectTypeOf(onNumber).toExtend<ToolExecuteFunction<z.ZodObject<{ a: z.ZodString }>>>();

/** Reads the type of the arguments that a tool's function gets. */
function argumentsOf<P extends ToolInputParameters>(parameters: P): ToolExecuteArgument<P> {
  const seen: ToolExecuteArgument<P>[] = [];
  new FunctionTool<P>({ name: 'f', description: '', parameters, execute: (args) => void seen.push(args) });
  return seen[0] as ToolExecuteArgument<P>;
}

interface Forecast {
  city: string;
  days: number;
}

// Each library's schema determines the type of its output.
expectTypeOf(argumentsOf(z.object({ city: z.string(), days: z.number().default(1) }))).toEqualTypeOf<Forecast>();
expectTypeOf(
  argumentsOf(mini.object({ city: mini.string(), days: mini._default(mini.number(), 1) })),
).toEqualTypeOf<Forecast>();
expectTypeOf(argumentsOf(z3.object({ city: z3.string(), days: z3.number().default(1) }))).toEqualTypeOf<Forecast>();
expectTypeOf(argumentsOf(old.object({ city: old.string(), days: old.number().default(1) }))).toEqualTypeOf<Forecast>();
expectTypeOf(argumentsOf(type({ city: 'string', days: 'number = 1' }))).toEqualTypeOf<Forecast>();
expectTypeOf(
  argumentsOf(toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 1) }))),
).toEqualTypeOf<Forecast>();

// A schema of @google/genai is accepted as its own type, and has no type for TypeScript.
const schema: Schema = { type: Type.OBJECT, properties: { city: { type: Type.STRING } } };
expectTypeOf(argumentsOf(schema)).toEqualTypeOf<Record<string, unknown>>();
expectTypeOf(argumentsOf({ type: Type.OBJECT, properties: {} })).toEqualTypeOf<Record<string, unknown>>();

// A schema of valibot needs `toStandardJsonSchema`.
// @ts-expect-error: it has no JSON Schema
argumentsOf(v.object({ city: v.string() }));
