/**
 * The part of the Standard Schema and Standard JSON Schema interfaces (standardschema.dev, version 1) that is used here. It lets
 * tools accept schemas of zod, valibot, arktype and others without a dependency on them.
 */
export interface StandardSchemaWithJson<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A problem that a schema library reports, and its path. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** JSON Schema as an object, or a @google/genai `Schema` (types in upper case). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema of a value: a Standard Schema with a JSON schema (zod 4, …), or JSON Schema itself. */
export type SchemaLike = StandardSchemaWithJson | JsonSchema;

/** Type of a value that passes the schema. */
export type InferSchema<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Record<string, unknown>;
