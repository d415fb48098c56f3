// Errors that Node itself makes come from another realm inside a Jest context and fail `instanceof Error`.
// Nothing of the product depends on this; assertions of the tests do.
import { types } from 'node:util';

Object.defineProperty(Error, Symbol.hasInstance, {
  /** @param {unknown} value */
  value(value) {
    if (this === Error)
      return types.isNativeError(value) || Object.prototype.isPrototypeOf.call(Error.prototype, Object(value));
    return Function.prototype[Symbol.hasInstance].call(this, value);
  },
});
