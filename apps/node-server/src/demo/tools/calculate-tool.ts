import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';
import { calculate } from '../arithmetic/calculate.ts';

/** Does arithmetic. */
export const calculateTool = new FunctionTool({
  name: 'calculate',
  description:
    'Works out an arithmetic expression: + - * / ^, parentheses, "17% of 340", "7 mod 3", sqrt, min, max, pi and the like.',
  parameters: z.object({ expression: z.string() }),
  execute: ({ expression }) => ({ expression, value: calculate(expression) }),
});
