import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the page works behind a prefix.
  base: './',
  plugins: [react()],
  // The package that serves the page is published with it.
  build: { outDir: '../../packages/studio/dist/page', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
});
