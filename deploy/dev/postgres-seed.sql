-- The one seed that the demo, the tests and docker-compose.dev.yml share (spec §4.1). Running it again changes nothing.
-- Invented people only: what is written here is public.

create table if not exists accounts (
  id      serial primary key,
  name    text not null,
  balance numeric(14, 2) not null
);

insert into accounts (name, balance)
select seed.name, seed.balance
from (values ('cuenta-demo-1', 1000.00), ('cuenta-demo-2', 2500.50)) as seed (name, balance)
where not exists (select from accounts where accounts.name = seed.name);

create table if not exists clientes (
  id     serial primary key,
  cedula text unique not null,
  nombre text not null,
  email  text not null,
  estado text not null default 'activo'
);

insert into clientes (cedula, nombre, email, estado)
values
  ('V16760320', 'Ana María Restrepo', 'ana.restrepo@example.com', 'activo'),
  ('V16760321', 'Carlos Andrés Gómez', 'carlos.gomez@example.com', 'moroso'),
  ('V16760322', 'Lucía Fernanda Ríos', 'lucia.rios@example.com', 'activo'),
  ('V90000001', 'Cliente Error Simulado', 'error.simulado@example.com', 'activo')
on conflict (cedula) do nothing;
