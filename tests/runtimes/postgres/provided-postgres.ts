/** The server of a test run, or why there is none: what does not need it is tested all the same. */
export type ProvidedPostgres =
  | { readonly url: string; readonly failure?: undefined }
  | { readonly url?: undefined; readonly failure: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: ProvidedPostgres;
  }
}
