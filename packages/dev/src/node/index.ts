export { uiFiles } from './ui-files.ts';
