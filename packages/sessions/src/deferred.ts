// What sessions seldom need: not loaded with the services.
export { planImport } from './import-plan.ts';
