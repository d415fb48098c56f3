/**
 * Everything that a model or its user reads from this folder. Texts of errors and of missing parts are the contract
 * (spec §5.5, §5.6), word by word; descriptions say what §5.2, §5.3 and §5.8 ask for in our own words.
 */
const SPELLINGS =
  'en cualquier formato usual (con o sin puntos, guiones, espacios o letra V/E/J/G/P; mayúsculas o minúsculas; no hace ' +
  'falta limpiarlo). Son equivalentes `16760320`, `16.760.320`, `V16760320` y `V-16.760.320`; un RIF completo se escribe ' +
  '`J-16760320-2`. Si falta la letra se asume V: incluye la letra siempre que la conozcas.';

export const DESCRIPTIONS = {
  identifier: `Cédula o RIF venezolano ${SPELLINGS}`,

  consultarCliente:
    'Devuelve los datos de identidad de un cliente (nombre, correo electrónico y estado) por su cédula o RIF, desde la ' +
    'base de datos PostgreSQL de clientes. Úsala solo cuando basten esos datos. Si también hace falta el saldo usa ' +
    '`resumen_cliente`, que consulta ambas fuentes en paralelo con una sola llamada. Acepta el identificador en cualquier ' +
    'formato usual, por ejemplo `V-16.760.320` o `J-16760320-2`.',
  consultarSaldo:
    'Devuelve el saldo actual de un cliente y su moneda por su cédula o RIF, desde la API REST de saldos. Úsala solo ' +
    'cuando baste el saldo. Si también hacen falta los datos del cliente usa `resumen_cliente`, que consulta ambas ' +
    'fuentes en paralelo con una sola llamada. Acepta el identificador en cualquier formato usual, por ejemplo ' +
    '`V-16.760.320` o `J-16760320-2`.',
  resumenCliente:
    'Devuelve en una sola llamada los datos de identidad y el saldo de un cliente por su cédula o RIF, consultados en ' +
    'paralelo. Es la herramienta preferida para una visión completa. El resultado puede ser PARCIAL: revisa siempre ' +
    '`cliente.disponible` y `saldo.disponible`; si alguno es `false`, `motivo` explica por qué falta. Un dato que falta ' +
    'nunca equivale a cero: dile al usuario qué parte falta y por qué, sin inventarla, sin ponerla en cero y sin ' +
    'omitirla. Acepta el identificador en cualquier formato usual, por ejemplo `V-16.760.320` o `J-16760320-2`.',
  estados:
    'Diccionario de los códigos de `estado` que pueden devolver `consultar_cliente` y `resumen_cliente`, con lo que ' +
    'significa cada uno.',
  atencionCliente:
    'Flujo de atención a un cliente por su cédula o RIF: qué herramienta usar y cómo tratar los datos parciales. Recibe ' +
    'exactamente uno de los argumentos `identificador` o `cedula`.',
  cedulaArgument: 'Otro nombre para `identificador`; indica solo uno de los dos.',
} as const;

export const TITLES = {
  consultarCliente: 'Consultar cliente',
  consultarSaldo: 'Consultar saldo',
  resumenCliente: 'Resumen de cliente',
  estados: 'Catálogo de estados de cliente',
  atencionCliente: 'Atención al cliente',
} as const;

export const FIELDS = {
  cedula: 'Identificador en su forma canónica: letra y ocho dígitos, por ejemplo `V16760320`.',
  nombre: 'Nombre del cliente.',
  email: 'Correo electrónico del cliente.',
  estado: 'Código de estado del cliente; su significado está en el recurso `data://clientes/estados`.',
  saldo: 'Saldo actual, en la moneda indicada.',
  moneda: 'Código de la moneda, tres letras mayúsculas.',
  cliente: 'Datos de identidad del cliente, o el motivo por el que faltan.',
  saldoPart: 'Saldo del cliente, o el motivo por el que falta.',
  disponible: 'Si es `false` los datos faltan: no equivale a cero ni a vacío.',
  datos: 'Los datos pedidos; `null` cuando no están disponibles.',
  motivo: 'Por qué faltan los datos; `null` cuando están disponibles.',
  resumenCompleto: '`true` solo cuando ambas partes están disponibles.',
} as const;

export const ERRORS = {
  invalidIdentifier:
    'El identificador no tiene un formato reconocido. Verifica que sea una cédula o RIF venezolano (con o sin puntos, ' +
    'guiones o letra de prefijo).',
  invalidCheckDigit: 'El dígito verificador del identificador no es válido. Revisa que el RIF esté bien tipeado.',
  clienteUnavailable:
    'La base de datos de clientes no está disponible en este momento. Intenta de nuevo en unos segundos.',
  saldoUnavailable: 'El servicio de saldos no está disponible en este momento. Intenta de nuevo en unos segundos.',
  clienteNotFound: (canonical: string) => `No se encontró ningún cliente con el identificador ${canonical}.`,
  saldoNotFound: (canonical: string) => `No se encontró saldo registrado para el identificador ${canonical}.`,
} as const;

export const REASONS = {
  clienteUnavailable: 'la base de datos de clientes no está disponible en este momento',
  clienteNotFound: 'no existe un cliente registrado con ese identificador',
  saldoUnavailable: 'el servicio de saldos no está disponible en este momento',
  saldoNotFound: 'no hay saldo registrado para ese identificador',
  notAuthorized: 'no está autorizado para consultar este dato',
} as const;

/** The dictionary behind `data://clientes/estados` (spec §5.7). */
export const ESTADOS = {
  activo: 'El cliente está al día; puede operar sin restricciones.',
  moroso: 'El cliente tiene obligaciones vencidas; algunas operaciones pueden estar restringidas.',
  inactivo: 'El cliente no tiene actividad reciente; puede requerir reactivación antes de operar.',
} as const;

/** `identifier` goes in as it was given, neither normalised nor judged (spec §5.8). */
export function atencionCliente(identifier: string): string {
  return [
    `Atiende la consulta sobre el cliente con identificador ${identifier}. Sigue estos pasos:`,
    '',
    '1. Llama a la herramienta `resumen_cliente` con ese identificador, tal como está escrito.',
    '2. Revisa `cliente.disponible` y `saldo.disponible`. Si alguno es `false`, dile al usuario exactamente qué parte ' +
      'falta y por qué, según `motivo`. Nunca asumas que el dato es cero ni lo inventes.',
    '3. Si solo hace falta un aspecto puedes usar `consultar_cliente` (identidad y estado) o `consultar_saldo` (saldo).',
    '4. Para explicar el significado de `estado` lee el recurso `data://clientes/estados`.',
  ].join('\n');
}
