import tseslint from 'typescript-eslint';

/** Node's own globals that the plain scripts use. @type {Record<string, 'readonly'>} */
const nodeGlobals = {
  process: 'readonly',
  console: 'readonly',
  URL: 'readonly',
  setTimeout: 'readonly',
  clearTimeout: 'readonly',
};

export default tseslint.config(
  { ignores: ['dist/**', 'coverage/**', 'node_modules/**', 'bench/node_modules/**', 'test/clients/node_modules/**'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      globals: nodeGlobals,
      parserOptions: {
        projectService: { allowDefaultProject: ['*.cjs'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      // Only config/ reads the environment (architecture §2); the scripts are programs of their own.
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read settings; only config/ reads the environment.' },
      ],
    },
  },
  { files: ['*.cjs'], ...tseslint.configs.disableTypeChecked },
  // The peers that these import are installed only beside them: nothing here knows their types.
  {
    files: ['bench/**', 'test/clients/**'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { parserOptions: { projectService: false } },
  },
  {
    files: ['src/config/**', 'scripts/**', 'bench/**', 'test/**', 'deploy/**', '*.mjs', '*.cjs', 'src/main.ts'],
    rules: { 'no-restricted-properties': 'off', 'no-console': 'off' },
  },
);
