export type { CompiledEntry } from './call.js';
