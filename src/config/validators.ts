import { ValidateBy } from 'class-validator';

/** At least so many bytes of UTF-8: the strength of a key is in its bytes, not in its characters. */
export const MinBytes = (bytes: number): PropertyDecorator =>
  ValidateBy({
    name: 'minBytes',
    constraints: [bytes],
    validator: {
      validate: (value: unknown) => typeof value === 'string' && Buffer.byteLength(value) >= bytes,
      defaultMessage: () => `must have at least ${bytes} bytes`,
    },
  });
