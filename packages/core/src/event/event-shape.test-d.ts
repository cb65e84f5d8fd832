// Compiled and never run: the shape of an event cannot differ from its type.
import { FLAG, listOf, NUMBER, required, shape, TEXT } from './field.ts';

interface Sample {
  readonly id: string;
  readonly count?: number;
  readonly tags?: readonly string[];
}

shape<Sample>({ id: required(TEXT), count: NUMBER, tags: listOf(TEXT) });
// @ts-expect-error -- a member is missing
shape<Sample>({ id: required(TEXT), count: NUMBER });
// @ts-expect-error -- a member that the type does not have
shape<Sample>({ id: required(TEXT), count: NUMBER, tags: listOf(TEXT), more: TEXT });
// @ts-expect-error -- a member of another type
shape<Sample>({ id: required(TEXT), count: FLAG, tags: listOf(TEXT) });
// @ts-expect-error -- a list of another type
shape<Sample>({ id: required(TEXT), count: NUMBER, tags: listOf(NUMBER) });
// @ts-expect-error -- a required member that the shape makes optional
shape<Sample>({ id: TEXT, count: NUMBER, tags: listOf(TEXT) });
// @ts-expect-error -- an optional member that the shape requires
shape<Sample>({ id: required(TEXT), count: required(NUMBER), tags: listOf(TEXT) });
